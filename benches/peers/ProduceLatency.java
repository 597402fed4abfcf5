import java.util.Arrays;
import java.util.Properties;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Java's part of benches/peers/latency.py: ProduceLatency BOOTSTRAP TOPIC BYTES WARM COUNT NANOSECONDS. Sends a
 * record every NANOSECONDS and waits for its acknowledgement; prints the microseconds of each, sorted.
 */
public final class ProduceLatency {
    public static void main(String[] arguments) throws Exception {
        String topic = arguments[1];
        byte[] value = new byte[Integer.parseInt(arguments[2])];
        int warm = Integer.parseInt(arguments[3]);
        long[] took = new long[Integer.parseInt(arguments[4])];
        long pause = Long.parseLong(arguments[5]);
        Properties config = new Properties();
        config.put("bootstrap.servers", arguments[0]);
        config.put("acks", "all");
        config.put("enable.idempotence", "true");
        config.put("linger.ms", "0");
        config.put("key.serializer", ByteArraySerializer.class.getName());
        config.put("value.serializer", ByteArraySerializer.class.getName());
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(config)) {
            producer.send(new ProducerRecord<>(topic, value)).get();
            long due = System.nanoTime();
            for (int n = -warm; n < took.length; n++) {
                due += pause;
                long now = System.nanoTime();
                // A late record is measured from the time it was due.
                boolean late = now >= due;
                while (!late && (now = System.nanoTime()) < due) {
                    LockSupport.parkNanos(due - now);
                }
                long began = late ? due : System.nanoTime();
                producer.send(new ProducerRecord<>(topic, value)).get();
                if (n >= 0) {
                    took[n] = (System.nanoTime() - began) / 1000;
                }
            }
        }
        Arrays.sort(took);
        System.out.println(Arrays.toString(took));
    }
}
