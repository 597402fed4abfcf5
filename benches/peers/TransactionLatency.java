import java.util.Arrays;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Java's part of benches/peers/transactions.py: TransactionLatency BOOTSTRAP TOPIC ID BYTES RECORDS WARM COUNT. Commits
 * transactions one after the other; prints the microseconds of each, from its begin to the end of its commit.
 */
public final class TransactionLatency {
    public static void main(String[] arguments) throws Exception {
        String topic = arguments[1];
        byte[] value = new byte[Integer.parseInt(arguments[3])];
        int records = Integer.parseInt(arguments[4]);
        int warm = Integer.parseInt(arguments[5]);
        long[] took = new long[Integer.parseInt(arguments[6])];
        Properties config = new Properties();
        config.put("bootstrap.servers", arguments[0]);
        config.put("transactional.id", arguments[2]);
        config.put("linger.ms", "0");
        config.put("key.serializer", ByteArraySerializer.class.getName());
        config.put("value.serializer", ByteArraySerializer.class.getName());
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(config)) {
            producer.initTransactions();
            for (int n = -warm; n < took.length; n++) {
                long began = System.nanoTime();
                producer.beginTransaction();
                for (int i = 0; i < records; i++) {
                    producer.send(new ProducerRecord<>(topic, value));
                }
                producer.commitTransaction();
                if (n >= 0) {
                    took[n] = (System.nanoTime() - began) / 1000;
                }
            }
        }
        System.out.println(Arrays.toString(took));
    }
}
