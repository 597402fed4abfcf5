import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.List;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.message.ProduceRequestData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.ProduceRequest;
import org.apache.kafka.common.requests.ProduceResponse;
import org.apache.kafka.common.requests.RequestHeader;

/**
 * Writes records of a transaction that no coordinator knows, as a producer does whose records arrive after
 * its transaction ended: HangingTransaction HOST PORT TOPIC PARTITION PRODUCER_ID VALUE... The broker at
 * HOST:PORT must lead the partition and not verify transactions.
 */
public final class HangingTransaction {
    /** A version before the second protocol, which adds the partition to the transaction. */
    private static final short VERSION = 9;
    private static final int TIMEOUT_MS = 30_000;

    private HangingTransaction() {}

    public static void main(String[] args) throws Exception {
        SimpleRecord[] records = new SimpleRecord[args.length - 5];
        for (int i = 0; i < records.length; i++) {
            records[i] = new SimpleRecord(System.currentTimeMillis(), args[i + 5].getBytes());
        }
        long producerId = Long.parseLong(args[4]);
        MemoryRecords batch = MemoryRecords.withTransactionalRecords(
            Compression.NONE, producerId, (short) 0, 0, records);
        ProduceRequestData.TopicProduceDataCollection topics = new ProduceRequestData.TopicProduceDataCollection();
        topics.add(new ProduceRequestData.TopicProduceData()
            .setName(args[2])
            .setTopicId(Uuid.ZERO_UUID)
            .setPartitionData(List.of(new ProduceRequestData.PartitionProduceData()
                .setIndex(Integer.parseInt(args[3]))
                .setRecords(batch))));
        ProduceRequest request = new ProduceRequest(new ProduceRequestData()
            .setTransactionalId("hanging-" + producerId)
            .setAcks((short) -1)
            .setTimeoutMs(TIMEOUT_MS)
            .setTopicData(topics), VERSION);
        RequestHeader header = new RequestHeader(ApiKeys.PRODUCE, VERSION, "hanging", 1);
        ByteBuffer frame = request.serializeWithHeader(header);
        try (Socket socket = new Socket(args[0], Integer.parseInt(args[1]))) {
            socket.setSoTimeout(TIMEOUT_MS);
            DataOutputStream out = new DataOutputStream(socket.getOutputStream());
            out.writeInt(frame.remaining());
            out.write(frame.array(), frame.arrayOffset() + frame.position(), frame.remaining());
            out.flush();
            DataInputStream in = new DataInputStream(socket.getInputStream());
            byte[] response = in.readNBytes(in.readInt());
            ProduceResponse parsed =
                (ProduceResponse) AbstractResponse.parseResponse(ByteBuffer.wrap(response), header);
            parsed.data().responses().forEach(topic -> topic.partitionResponses().forEach(partition ->
                Errors.forCode(partition.errorCode()).maybeThrow()));
        }
    }
}
