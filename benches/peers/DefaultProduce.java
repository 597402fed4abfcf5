import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Java's part of benches/peers/producers/defaults.py: DefaultProduce BOOTSTRAP WARM_TOPIC TOPIC BYTES RECORDS CODEC.
 * Sends records with keys and the default configuration, to WARM_TOPIC first; measures from the first record to the
 * last acknowledgement, and prints the result as JSON.
 */
public final class DefaultProduce {
    private static final int WARM_RECORDS = 20_000;
    private static final int DISTINCT = 10_000;
    private static final OperatingSystemMXBean SYSTEM =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    private static final byte[][] keys = new byte[DISTINCT][];
    private static final byte[][] values = new byte[DISTINCT][];

    public static void main(String[] arguments) {
        int records = Integer.parseInt(arguments[4]);
        fillRecords(Integer.parseInt(arguments[3]));
        Properties config = new Properties();
        config.put("bootstrap.servers", arguments[0]);
        config.put("compression.type", arguments[5]);
        config.put("key.serializer", ByteArraySerializer.class.getName());
        config.put("value.serializer", ByteArraySerializer.class.getName());
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(config)) {
            send(producer, arguments[1], WARM_RECORDS);
            long cpu = SYSTEM.getProcessCpuTime();
            long wall = System.nanoTime();
            send(producer, arguments[2], records);
            wall = System.nanoTime() - wall;
            cpu = SYSTEM.getProcessCpuTime() - cpu;
            System.out.printf(
                    "{\"records\": %d, \"seconds\": %s, \"cpu_seconds\": %s}%n", records, wall / 1e9, cpu / 1e9);
        }
    }

    private static void send(KafkaProducer<byte[], byte[]> producer, String topic, int records) {
        AtomicInteger acknowledged = new AtomicInteger();
        AtomicReference<Exception> failure = new AtomicReference<>();
        for (int n = 0; n < records; n++) {
            var record = new ProducerRecord<>(topic, keys[n % DISTINCT], values[n % DISTINCT]);
            producer.send(record, (metadata, error) -> {
                if (error == null) {
                    acknowledged.incrementAndGet();
                } else {
                    failure.compareAndSet(null, error);
                }
            });
        }
        producer.flush();
        if (acknowledged.get() != records) {
            throw new IllegalStateException(
                    acknowledged + " of " + records + " records are acknowledged", failure.get());
        }
    }

    /** Distinct keys, and values whose second half compresses to almost nothing. */
    private static void fillRecords(int size) {
        Random source = new Random(size);
        for (int n = 0; n < DISTINCT; n++) {
            byte[] half = new byte[size / 2];
            source.nextBytes(half);
            values[n] = new byte[size];
            System.arraycopy(half, 0, values[n], 0, half.length);
            keys[n] = String.format("key-%05d", n).getBytes(StandardCharsets.UTF_8);
        }
    }
}
