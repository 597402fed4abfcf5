import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.errors.ElectionNotNeededException;

/**
 * Moves the leaders of some topics repeatedly, until standard input ends:
 * MoveLeaders BOOTSTRAP MILLISECONDS TOPIC... Each round reassigns the replicas of each partition with
 * another broker first (one in six partitions loses a replica until a later round), and then elects the
 * preferred leaders. It prints "TOPIC PARTITION OLD NEW" for each partition with a new leader, and
 * "error MESSAGE" for a failed round.
 */
public final class MoveLeaders {
    private static final int ONE_REPLICA_FEWER = 6;

    private final Random random = new Random(1);
    private final Admin admin;
    private final List<String> topics;
    /** The maximum wait of a round for new replicas to catch up. */
    private final long patience;
    /** The leaders that the controller has elected. */
    private final Map<TopicPartition, Integer> leaders = new HashMap<>();

    private MoveLeaders(Admin admin, List<String> topics, long interval) {
        this.admin = admin;
        this.topics = topics;
        this.patience = interval * 3 / 4;
    }

    private void round() {
        try {
            move();
        } catch (ExecutionException error) {
            // A paused broker or a new controller: the next round retries.
            System.out.println("error " + String.valueOf(error.getCause()).replace('\n', ' '));
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }

    private void move() throws ExecutionException, InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(patience);
        List<Integer> brokers = admin.describeCluster().nodes().get().stream().map(Node::id).toList();
        Map<TopicPartition, List<Integer>> targets = new HashMap<>();
        for (var topic : admin.describeTopics(topics).allTopicNames().get().values()) {
            for (TopicPartitionInfo info : topic.partitions()) {
                TopicPartition partition = new TopicPartition(topic.name(), info.partition());
                if (info.leader() != null) {
                    leaders.putIfAbsent(partition, info.leader().id());
                }
                targets.put(partition, target(brokers, leaders.get(partition), info.replicas().size()));
            }
        }
        targets.keySet().removeAll(admin.listPartitionReassignments().reassignments().get().keySet());
        Map<TopicPartition, Optional<NewPartitionReassignment>> reassignments = new HashMap<>();
        targets.forEach((partition, target) ->
            reassignments.put(partition, Optional.of(new NewPartitionReassignment(target))));
        admin.alterPartitionReassignments(reassignments).all().get();
        Set<TopicPartition> moving = targets.keySet();
        while (System.nanoTime() < deadline
                && !admin.listPartitionReassignments(moving).reassignments().get().isEmpty()) {
            Thread.sleep(20);
        }
        elect(targets);
    }

    /** A new leader, followed by the other brokers in random order. */
    private List<Integer> target(List<Integer> brokers, Integer leader, int replicas) {
        List<Integer> target = new ArrayList<>(brokers);
        do {
            Collections.shuffle(target, random);
        } while (target.size() > 1 && target.get(0).equals(leader));
        boolean fewer = replicas == brokers.size() && random.nextInt(ONE_REPLICA_FEWER) == 0;
        return fewer ? target.subList(0, target.size() - 1) : target;
    }

    private void elect(Map<TopicPartition, List<Integer>> targets)
            throws ExecutionException, InterruptedException {
        var results = admin.electLeaders(ElectionType.PREFERRED, targets.keySet()).partitions().get();
        results.forEach((partition, error) -> {
            Integer old = leaders.get(partition);
            int preferred = targets.get(partition).get(0);
            // Not needed: the old leader lost its replica, so the preferred leader took over.
            boolean leads = error.isEmpty() || error.get() instanceof ElectionNotNeededException;
            if (leads) {
                leaders.put(partition, preferred);
            }
            if (leads && old != null && old != preferred) {
                System.out.println(
                    partition.topic() + " " + partition.partition() + " " + old + " " + preferred);
            }
        });
        System.out.flush();
    }

    public static void main(String[] arguments) throws IOException, InterruptedException {
        long interval = Long.parseLong(arguments[1]);
        List<String> topics = List.of(arguments).subList(2, arguments.length);
        Properties config = new Properties();
        config.put("bootstrap.servers", arguments[0]);
        config.put("request.timeout.ms", "3000");
        config.put("default.api.timeout.ms", "15000");
        try (Admin admin = Admin.create(config)) {
            MoveLeaders mover = new MoveLeaders(admin, topics, interval);
            ScheduledExecutorService rounds = Executors.newSingleThreadScheduledExecutor();
            rounds.scheduleAtFixedRate(mover::round, 0, interval, TimeUnit.MILLISECONDS);
            while (System.in.read() >= 0) {
                // Reads until the end.
            }
            rounds.shutdown();
            rounds.awaitTermination(30, TimeUnit.SECONDS);
        }
    }
}
