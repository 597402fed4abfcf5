import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.List;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.FindCoordinatorRequestData;
import org.apache.kafka.common.message.FindCoordinatorResponseData;
import org.apache.kafka.common.message.StreamsGroupHeartbeatRequestData;
import org.apache.kafka.common.message.StreamsGroupHeartbeatResponseData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.FindCoordinatorRequest;
import org.apache.kafka.common.requests.FindCoordinatorResponse;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.requests.StreamsGroupHeartbeatRequest;
import org.apache.kafka.common.requests.StreamsGroupHeartbeatResponse;

/**
 * A member of a group of Kafka Streams: StreamsMember HOST PORT GROUP TOPIC CHANGELOG. Its topology has one
 * subtopology, which reads the topic and restores its state from the changelog topic. It prints its id once
 * it has tasks, and leaves when standard input ends. It speaks the protocol alone: it processes nothing.
 */
public final class StreamsMember implements AutoCloseable {
    private static final int TIMEOUT_MS = 30_000;
    private static final int LEAVE = -1;

    private final Socket socket;

    private StreamsMember(String host, int port) throws IOException {
        socket = new Socket(host, port);
        socket.setSoTimeout(TIMEOUT_MS);
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }

    private AbstractResponse send(AbstractRequest request) throws IOException {
        RequestHeader header = new RequestHeader(request.apiKey(), request.version(), "streams-member", 1);
        ByteBuffer frame = request.serializeWithHeader(header);
        DataOutputStream out = new DataOutputStream(socket.getOutputStream());
        out.writeInt(frame.remaining());
        out.write(frame.array(), frame.arrayOffset() + frame.position(), frame.remaining());
        out.flush();
        DataInputStream in = new DataInputStream(socket.getInputStream());
        return AbstractResponse.parseResponse(ByteBuffer.wrap(in.readNBytes(in.readInt())), header);
    }

    private FindCoordinatorResponseData.Coordinator coordinator(String group) throws Exception {
        FindCoordinatorRequestData data = new FindCoordinatorRequestData()
            .setKeyType(FindCoordinatorRequest.CoordinatorType.GROUP.id())
            .setCoordinatorKeys(List.of(group));
        while (true) {
            FindCoordinatorResponseData.Coordinator found = ((FindCoordinatorResponse)
                send(new FindCoordinatorRequest.Builder(data).build())).data().coordinators().get(0);
            if (found.errorCode() == Errors.NONE.code()) {
                return found;
            }
            Thread.sleep(100);
        }
    }

    private StreamsGroupHeartbeatResponseData beat(StreamsGroupHeartbeatRequestData data) throws Exception {
        while (true) {
            // Brokers of older releases than these classes know the first version.
            StreamsGroupHeartbeatRequest request =
                new StreamsGroupHeartbeatRequest.Builder(data).build(ApiKeys.STREAMS_GROUP_HEARTBEAT.oldestVersion());
            StreamsGroupHeartbeatResponseData response = ((StreamsGroupHeartbeatResponse) send(request)).data();
            Errors error = Errors.forCode(response.errorCode());
            if (error == Errors.NONE) {
                return response;
            }
            if (error != Errors.COORDINATOR_LOAD_IN_PROGRESS) {
                throw error.exception(response.errorMessage());
            }
            Thread.sleep(100);
        }
    }

    private static StreamsGroupHeartbeatRequestData joining(String group, String topic, String changelog) {
        return new StreamsGroupHeartbeatRequestData()
            .setGroupId(group)
            .setMemberId(Uuid.randomUuid().toString())
            .setProcessId(Uuid.randomUuid().toString())
            .setRebalanceTimeoutMs(TIMEOUT_MS)
            .setUserEndpoint(new StreamsGroupHeartbeatRequestData.Endpoint().setHost("queries.test").setPort(8080))
            .setClientTags(List.of(new StreamsGroupHeartbeatRequestData.KeyValue().setKey("zone").setValue("a")))
            .setActiveTasks(List.of())
            .setStandbyTasks(List.of())
            .setWarmupTasks(List.of())
            .setTopology(new StreamsGroupHeartbeatRequestData.Topology()
                .setEpoch(1)
                .setSubtopologies(List.of(new StreamsGroupHeartbeatRequestData.Subtopology()
                    .setSubtopologyId("0")
                    .setSourceTopics(List.of(topic))
                    .setStateChangelogTopics(
                        List.of(new StreamsGroupHeartbeatRequestData.TopicInfo().setName(changelog))))));
    }

    /** Is a member until standard input ends. */
    private void run(StreamsGroupHeartbeatRequestData data) throws Exception {
        StreamsGroupHeartbeatResponseData response = beat(data);
        boolean hasTasks = false;
        while (System.in.available() == 0) {
            data = new StreamsGroupHeartbeatRequestData()
                .setGroupId(data.groupId())
                .setMemberId(data.memberId())
                .setMemberEpoch(response.memberEpoch());
            if (response.activeTasks() != null && !response.activeTasks().isEmpty()) {
                data.setStandbyTasks(List.of())
                    .setWarmupTasks(List.of())
                    .setActiveTasks(response.activeTasks().stream()
                        .map(each -> new StreamsGroupHeartbeatRequestData.TaskIds()
                            .setSubtopologyId(each.subtopologyId())
                            .setPartitions(each.partitions()))
                        .toList());
                if (!hasTasks) {
                    System.out.println(data.memberId());
                }
                hasTasks = true;
            }
            response = beat(data);
            Thread.sleep(100);
        }
        beat(data.setMemberEpoch(LEAVE));
    }

    public static void main(String[] args) throws Exception {
        FindCoordinatorResponseData.Coordinator found;
        try (StreamsMember any = new StreamsMember(args[0], Integer.parseInt(args[1]))) {
            found = any.coordinator(args[2]);
        }
        try (StreamsMember member = new StreamsMember(found.host(), found.port())) {
            member.run(joining(args[2], args[3], args[4]));
        }
    }
}
