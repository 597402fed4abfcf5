import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Java's part of benches/peers/consumers/defaults.py: DefaultConsume BOOTSTRAP TOPIC PARTITIONS RECORDS BYTES. Reads a
 * topic with the default configuration, after a warm-up with a part of it; measures from before the consumer is created
 * to the last record, and prints the result as JSON.
 */
public final class DefaultConsume {
    private static final int WARM_RECORDS = 20_000;
    private static final OperatingSystemMXBean SYSTEM =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    private static long received;
    private static long bytes;
    private static long wall;
    private static long cpu;

    public static void main(String[] arguments) {
        int records = Integer.parseInt(arguments[3]);
        int size = Integer.parseInt(arguments[4]);
        List<TopicPartition> partitions = IntStream.range(0, Integer.parseInt(arguments[2]))
                .mapToObj(partition -> new TopicPartition(arguments[1], partition))
                .toList();
        read(arguments[0], partitions, Math.min(WARM_RECORDS, records));
        read(arguments[0], partitions, records);
        if (received != records || bytes != (long) records * size) {
            throw new IllegalStateException(received + " records with " + bytes + " bytes");
        }
        System.out.printf(
                "{\"records\": %d, \"seconds\": %s, \"cpu_seconds\": %s}%n", records, wall / 1e9, cpu / 1e9);
    }

    private static void read(String bootstrap, List<TopicPartition> partitions, int records) {
        long cpuStart = SYSTEM.getProcessCpuTime();
        long wallStart = System.nanoTime();
        Properties config = new Properties();
        config.put("bootstrap.servers", bootstrap);
        config.put("auto.offset.reset", "earliest");
        config.put("key.deserializer", ByteArrayDeserializer.class.getName());
        config.put("value.deserializer", ByteArrayDeserializer.class.getName());
        received = bytes = 0;
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(config)) {
            consumer.assign(partitions);
            while (received < records) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofSeconds(1))) {
                    received++;
                    bytes += record.value().length;
                }
            }
            wall = System.nanoTime() - wallStart;
            cpu = SYSTEM.getProcessCpuTime() - cpuStart;
        }
    }
}
