// Seeded random choices: one seed, one run.
import java.util.List;
import java.util.Random;

final class Dice {
    final Random random;

    Dice(long seed) {
        random = new Random(seed);
    }

    boolean chance(double of) {
        return random.nextDouble() < of;
    }

    int below(int bound) {
        return random.nextInt(bound);
    }

    <T> T any(List<T> of) {
        return of.get(random.nextInt(of.size()));
    }
}
