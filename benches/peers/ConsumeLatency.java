import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Java's part of benches/peers/delivery.py: ConsumeLatency BOOTSTRAP TOPIC GROUP PROTOCOL SINCE COUNT. Joins a group
 * and reads records, which begin with their send time; prints the microseconds until the first one, and then the ages
 * of COUNT records sent after the nanosecond SINCE.
 */
public final class ConsumeLatency {
    public static void main(String[] arguments) {
        long since = Long.parseLong(arguments[4]);
        long[] took = new long[1 + Integer.parseInt(arguments[5])];
        long start = System.nanoTime();
        Properties config = new Properties();
        config.put("bootstrap.servers", arguments[0]);
        config.put("group.id", arguments[2]);
        config.put("group.protocol", arguments[3]);
        config.put("auto.offset.reset", "latest");
        config.put("enable.auto.commit", "false");
        config.put("key.deserializer", ByteArrayDeserializer.class.getName());
        config.put("value.deserializer", ByteArrayDeserializer.class.getName());
        int seen = 0;
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(config)) {
            consumer.subscribe(List.of(arguments[1]));
            while (seen < took.length) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofSeconds(1))) {
                    long now = System.nanoTime();
                    if (seen == 0) {
                        took[seen++] = (now - start) / 1000;
                    }
                    long sent = ByteBuffer.wrap(record.value()).getLong();
                    if (sent >= since && seen < took.length) {
                        took[seen++] = (now - sent) / 1000;
                    }
                }
            }
        }
        System.out.println(Arrays.toString(took));
    }
}
