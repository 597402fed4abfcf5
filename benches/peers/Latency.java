import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Java's part of benches/peers/latency: Latency one-by-one|acknowledged|end-to-end BOOTSTRAP TOPIC BYTES WARM COUNT
 * NANOSECONDS. A record is due every NANOSECONDS, and measured from then if it is late. Prints the microseconds of each of
 * COUNT records, and those of CPU for one.
 */
public final class Latency {
    private static final OperatingSystemMXBean SYSTEM =
            ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
    /** Long enough for the consumer to look up the end of the partition. */
    private static final long SETTLE_NANOS = 1_000_000_000;

    private final String bootstrap;
    private final String topic;
    private final byte[] value;
    private final int warm;
    private final long[] took;
    private final long pause;

    private Latency(String[] arguments) {
        bootstrap = arguments[1];
        topic = arguments[2];
        value = new byte[Integer.parseInt(arguments[3])];
        warm = Integer.parseInt(arguments[4]);
        took = new long[warm + Integer.parseInt(arguments[5])];
        pause = Long.parseLong(arguments[6]);
    }

    public static void main(String[] arguments) throws Exception {
        Latency latency = new Latency(arguments);
        long cpu = SYSTEM.getProcessCpuTime();
        switch (arguments[0]) {
            case "one-by-one" -> latency.oneByOne();
            case "acknowledged" -> latency.acknowledged();
            default -> latency.endToEnd();
        }
        double micros = (SYSTEM.getProcessCpuTime() - cpu) / 1e3 / latency.took.length;
        long[] measured = Arrays.copyOfRange(latency.took, latency.warm, latency.took.length);
        System.out.println("{\"micros\": " + Arrays.toString(measured) + ", \"cpu\": " + micros + "}");
    }

    private interface Sender {
        void send(int number, long began) throws Exception;
    }

    private void pace(Sender sender) throws Exception {
        long due = System.nanoTime();
        for (int number = 0; number < took.length; number++) {
            due += pause;
            long now = System.nanoTime();
            boolean late = now >= due;
            while (!late && (now = System.nanoTime()) < due) {
                LockSupport.parkNanos(due - now);
            }
            sender.send(number, late ? due : System.nanoTime());
        }
    }

    private KafkaProducer<byte[], byte[]> producer() {
        Properties config = new Properties();
        config.put("bootstrap.servers", bootstrap);
        config.put("acks", "all");
        config.put("enable.idempotence", "true");
        config.put("linger.ms", "0");
        config.put("key.serializer", ByteArraySerializer.class.getName());
        config.put("value.serializer", ByteArraySerializer.class.getName());
        return new KafkaProducer<>(config);
    }

    private void oneByOne() throws Exception {
        try (KafkaProducer<byte[], byte[]> producer = producer()) {
            producer.send(new ProducerRecord<>(topic, value)).get();
            pace((number, began) -> {
                producer.send(new ProducerRecord<>(topic, value)).get();
                took[number] = (System.nanoTime() - began) / 1000;
            });
        }
    }

    private void acknowledged() throws Exception {
        try (KafkaProducer<byte[], byte[]> producer = producer()) {
            producer.send(new ProducerRecord<>(topic, value)).get();
            pace((number, began) -> producer.send(new ProducerRecord<>(topic, value), (metadata, error) -> {
                if (error != null) {
                    throw new IllegalStateException(error);
                }
                took[number] = (System.nanoTime() - began) / 1000;
            }));
        }
    }

    private void endToEnd() throws Exception {
        Properties config = new Properties();
        config.put("bootstrap.servers", bootstrap);
        config.put("auto.offset.reset", "latest");
        config.put("enable.auto.commit", "false");
        config.put("key.deserializer", ByteArrayDeserializer.class.getName());
        config.put("value.deserializer", ByteArrayDeserializer.class.getName());
        try (KafkaProducer<byte[], byte[]> producer = producer();
                KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(config)) {
            consumer.assign(List.of(new TopicPartition(topic, 0)));
            long until = System.nanoTime() + SETTLE_NANOS;
            while (System.nanoTime() < until) {
                consumer.poll(Duration.ofMillis(500));
            }
            Thread sending = new Thread(() -> {
                try {
                    pace((number, began) -> {
                        byte[] record = value.clone();
                        ByteBuffer.wrap(record).putInt(number).putLong(began);
                        producer.send(new ProducerRecord<>(topic, record));
                    });
                } catch (Exception failure) {
                    throw new IllegalStateException(failure);
                }
            });
            sending.start();
            int last = -1;
            while (last + 1 < took.length) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(500))) {
                    long now = System.nanoTime();
                    ByteBuffer stamp = ByteBuffer.wrap(record.value());
                    last = stamp.getInt();
                    took[last] = (now - stamp.getLong()) / 1000;
                }
            }
            sending.join();
        }
    }
}
