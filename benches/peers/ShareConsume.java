import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Properties;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Java's part of benches/peers/share.py: ShareConsume BOOTSTRAP TOPIC MODE WARM_GROUP GROUP WARM_RECORDS RECORDS. Reads
 * a topic as the only member of a share group, after a warm-up with a part of it in another group; measures from the
 * first records to the confirmation of the last acknowledgement, and prints the result as JSON.
 */
public final class ShareConsume {
    private static final OperatingSystemMXBean SYSTEM =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    public static void main(String[] arguments) {
        read(arguments, arguments[3], Integer.parseInt(arguments[5]));
        System.out.println(read(arguments, arguments[4], Integer.parseInt(arguments[6])));
    }

    private static String read(String[] arguments, String group, int records) {
        boolean explicit = arguments[2].equals("explicit");
        Properties config = new Properties();
        config.put("bootstrap.servers", arguments[0]);
        config.put("group.id", group);
        config.put("share.acknowledgement.mode", arguments[2]);
        config.put("key.deserializer", ByteArrayDeserializer.class.getName());
        config.put("value.deserializer", ByteArrayDeserializer.class.getName());
        long first = 0;
        long received = 0;
        long polls = 0;
        long bytes = 0;
        long wall = 0;
        long cpu = 0;
        try (KafkaShareConsumer<byte[], byte[]> consumer = new KafkaShareConsumer<>(config)) {
            consumer.subscribe(List.of(arguments[1]));
            while (received < records) {
                ConsumerRecords<byte[], byte[]> polled = consumer.poll(Duration.ofSeconds(1));
                if (first == 0 && !polled.isEmpty()) {
                    first = polled.count();
                    wall = System.nanoTime();
                    cpu = SYSTEM.getProcessCpuTime();
                }
                polls += polled.isEmpty() ? 0 : 1;
                for (ConsumerRecord<byte[], byte[]> record : polled) {
                    received++;
                    bytes += record.value().length;
                    if (explicit) {
                        consumer.acknowledge(record, AcknowledgeType.ACCEPT);
                    }
                }
            }
            if (consumer.commitSync().values().stream().anyMatch(Optional::isPresent)) {
                throw new IllegalStateException("not all was acknowledged");
            }
            wall = System.nanoTime() - wall;
            cpu = SYSTEM.getProcessCpuTime() - cpu;
        }
        return String.format(
                "{\"records\": %d, \"seconds\": %s, \"cpu_seconds\": %s, \"polls\": %d, \"bytes\": %d}",
                received - first, wall / 1e9, cpu / 1e9, polls, bytes);
    }
}
