import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Java's part of benches/peers/age.py: ConsumeAge BOOTSTRAP TOPIC PARTITIONS WARM_SECONDS SECONDS WORK_MS. Reads new
 * records and sleeps for WORK_MS after each poll; prints as JSON the age of each record, in microseconds, at the return
 * of its poll. Values begin with nanoseconds since 1970.
 */
public final class ConsumeAge {
    private static final OperatingSystemMXBean SYSTEM =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    public static void main(String[] arguments) throws InterruptedException {
        List<TopicPartition> partitions = IntStream.range(0, Integer.parseInt(arguments[2]))
                .mapToObj(partition -> new TopicPartition(arguments[1], partition))
                .toList();
        int work = Integer.parseInt(arguments[5]);
        Properties config = new Properties();
        config.put("bootstrap.servers", arguments[0]);
        config.put("key.deserializer", ByteArrayDeserializer.class.getName());
        config.put("value.deserializer", ByteArrayDeserializer.class.getName());
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(config)) {
            consumer.assign(partitions);
            poll(consumer, Integer.parseInt(arguments[3]), work);
            long cpu = SYSTEM.getProcessCpuTime();
            List<Long> micros = poll(consumer, Integer.parseInt(arguments[4]), work);
            cpu = SYSTEM.getProcessCpuTime() - cpu;
            System.out.printf("{\"micros\": %s, \"cpu_seconds\": %s}%n", micros, cpu / 1e9);
        }
    }

    private static List<Long> poll(KafkaConsumer<byte[], byte[]> consumer, int seconds, int work)
            throws InterruptedException {
        List<Long> micros = new ArrayList<>();
        long end = System.nanoTime() + seconds * 1_000_000_000L;
        while (System.nanoTime() < end) {
            var records = consumer.poll(Duration.ofSeconds(1));
            Instant now = Instant.now();
            long nanos = now.getEpochSecond() * 1_000_000_000L + now.getNano();
            for (ConsumerRecord<byte[], byte[]> record : records) {
                micros.add((nanos - ByteBuffer.wrap(record.value()).getLong()) / 1000);
            }
            Thread.sleep(work);
        }
        return micros;
    }
}
