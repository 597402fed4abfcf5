import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Java's producer under the load of tests/fault/load.py, to compare their longest pauses:
 * ProduceSteadily BOOTSTRAP TOPIC PARTITIONS MILLISECONDS. Sends one record per partition each interval
 * until standard input ends; then prints one line per partition: its index, acknowledged records, failed
 * records, and the longest time without an acknowledgement in milliseconds.
 */
public final class ProduceSteadily {
    /** A partition's progress; callbacks come from one thread. */
    private static final class Progress {
        final AtomicInteger acknowledged = new AtomicInteger();
        final AtomicInteger failed = new AtomicInteger();
        volatile long last = System.nanoTime();
        volatile long longest;

        void acknowledge() {
            long now = System.nanoTime();
            longest = Math.max(longest, now - last);
            last = now;
            acknowledged.incrementAndGet();
        }
    }

    public static void main(String[] arguments) throws IOException, InterruptedException {
        int partitions = Integer.parseInt(arguments[2]);
        Properties config = new Properties();
        config.put("bootstrap.servers", arguments[0]);
        config.put("key.serializer", StringSerializer.class.getName());
        config.put("value.serializer", StringSerializer.class.getName());
        List<Progress> all = new ArrayList<>();
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(config)) {
            // Excludes the first metadata request from the measurement.
            producer.partitionsFor(arguments[1]);
            for (int i = 0; i < partitions; i++) {
                all.add(new Progress());
            }
            System.out.println("ready");
            for (int n = 0; System.in.available() == 0; n++) {
                for (int partition = 0; partition < partitions; partition++) {
                    Progress progress = all.get(partition);
                    producer.send(
                        new ProducerRecord<>(arguments[1], partition, null, "java-" + n),
                        (metadata, error) -> {
                            if (error == null) {
                                progress.acknowledge();
                            } else {
                                progress.failed.incrementAndGet();
                            }
                        });
                }
                Thread.sleep(Long.parseLong(arguments[3]));
            }
        }
        for (int i = 0; i < partitions; i++) {
            Progress progress = all.get(i);
            System.out.printf(
                "%d %d %d %d%n",
                i, progress.acknowledged.get(), progress.failed.get(), progress.longest / 1_000_000);
        }
    }
}
