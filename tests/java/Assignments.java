// Assignments of the Java client's assignors for seeded random groups, one JSON line each:
//   {"group", "round", "assignor", "topics": {name: [[rack, ...] a partition]}, "members": [{"id",
//    "instance", "subscription" (hex, as sent to the coordinator)}], "assigned": {id: hex}}
// Range and roundrobin run once per group; the sticky assignors run several rounds, between which
// members join, leave, miss a round or change topics, and topics get more partitions.
// Run: java -cp '<oracle jars>/*' tests/java/Assignments.java OUT [GROUPS]

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Supplier;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.RebalanceProtocol;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

public final class Assignments {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int[] PARTITIONS = {1, 2, 3, 6, 6, 9, 12};
    private static final Comparator<TopicPartition> ORDER =
        Comparator.comparing(TopicPartition::topic).thenComparingInt(TopicPartition::partition);

    private static final class Member {
        String id;
        Optional<String> instance = Optional.empty();
        Optional<String> rack = Optional.empty();
        Set<String> topics = new TreeSet<>();
        ConsumerPartitionAssignor assignor;
        List<TopicPartition> owned = List.of();
        int generation = -1;
    }

    private final Random random;
    private final boolean racks;
    private final boolean alike;
    private final List<Node> nodes = new ArrayList<>();
    private final Map<String, List<Node[]>> topics = new TreeMap<>();
    private final Map<String, Member> members = new LinkedHashMap<>();
    private final Supplier<ConsumerPartitionAssignor> assignor;

    private Assignments(int seed, Supplier<ConsumerPartitionAssignor> assignor) {
        this.random = new Random(seed);
        this.assignor = assignor;
        this.racks = random.nextInt(3) == 0;
        this.alike = random.nextBoolean();
        int brokers = 1 + random.nextInt(6);
        int zones = 1 + random.nextInt(3);
        for (int id = 1; id <= brokers; id++) {
            String rack = racks && random.nextInt(10) > 0 ? "zone-" + random.nextInt(zones) : null;
            nodes.add(new Node(id, "broker-" + id, 9092, rack));
        }
        for (int count = 1 + random.nextInt(6); topics.size() < count; ) {
            topics.put("topic-" + Integer.toString(random.nextInt(1000), 36), new ArrayList<>());
        }
        topics.values().forEach(partitions -> grow(partitions, PARTITIONS[random.nextInt(PARTITIONS.length)]));
        int count = 1 + random.nextInt(9);
        while (members.size() < count) {
            join();
        }
    }

    private void grow(List<Node[]> partitions, int by) {
        int replicas = 1 + random.nextInt(Math.min(3, nodes.size()));
        int first = random.nextInt(nodes.size());
        for (int i = 0; i < by; i++) {
            Node[] on = new Node[replicas];
            for (int r = 0; r < replicas; r++) {
                on[r] = nodes.get((first + partitions.size() + r) % nodes.size());
            }
            partitions.add(on);
        }
    }

    private void join() {
        Member member = new Member();
        member.id = "member-" + Integer.toString(random.nextInt(100_000), 36);
        if (random.nextInt(4) == 0) {
            member.instance = Optional.of("instance-" + random.nextInt(1000) + member.id);
        }
        if (racks && random.nextInt(8) > 0) {
            member.rack = Optional.of("zone-" + random.nextInt(3));
        }
        member.assignor = assignor.get();
        subscribe(member);
        members.put(member.id, member);
    }

    private void subscribe(Member member) {
        member.topics.clear();
        for (String topic : topics.keySet()) {
            if (alike || random.nextInt(3) > 0) {
                member.topics.add(topic);
            }
        }
        if (alike ? topics.size() % 5 == 0 : random.nextInt(5) == 0) {
            member.topics.add("unknown");
        }
        if (member.topics.isEmpty()) {
            member.topics.add(topics.keySet().iterator().next());
        }
    }

    private void change() {
        switch (random.nextInt(6)) {
            case 0 -> join();
            case 1 -> {
                for (int more = 1 + random.nextInt(3); more > 0; more--) {
                    join();
                }
            }
            case 2 -> {
                List<String> ids = new ArrayList<>(members.keySet());
                for (int fewer = random.nextInt(ids.size()); fewer > 0; fewer--) {
                    members.remove(ids.remove(random.nextInt(ids.size())));
                }
            }
            case 3 -> topics.values().forEach(partitions -> grow(partitions, random.nextInt(4)));
            case 4 -> {
                topics.putIfAbsent("topic-" + Integer.toString(random.nextInt(1000), 36), new ArrayList<>());
                topics.values().stream().filter(List::isEmpty).forEach(partitions -> grow(partitions, 3));
                members.values().forEach(this::subscribe);
            }
            default -> { }
        }
    }

    private Cluster cluster() {
        List<PartitionInfo> partitions = new ArrayList<>();
        topics.forEach((topic, all) -> {
            for (int p = 0; p < all.size(); p++) {
                Node[] on = all.get(p);
                partitions.add(new PartitionInfo(topic, p, on[0], on, on));
            }
        });
        return new Cluster("cluster", nodes, partitions, Set.of(), Set.of());
    }

    @SuppressWarnings("removal") // its constructor is the only way to a generation
    private ObjectNode assign(int round) {
        ObjectNode row = JSON.createObjectNode();
        row.put("round", round);
        row.put("assignor", members.values().iterator().next().assignor.name());
        ObjectNode known = row.putObject("topics");
        topics.forEach((topic, all) -> {
            ArrayNode partitions = known.putArray(topic);
            for (Node[] on : all) {
                ArrayNode replicas = partitions.addArray();
                for (Node node : on) {
                    if (node.rack() != null) {
                        replicas.add(node.rack());
                    }
                }
            }
        });
        Map<String, Subscription> subscriptions = new LinkedHashMap<>();
        ArrayNode all = row.putArray("members");
        for (Member member : members.values()) {
            boolean keeps = member.assignor.supportedProtocols().contains(RebalanceProtocol.COOPERATIVE);
            Subscription told = new Subscription(
                List.copyOf(member.topics),
                member.assignor.subscriptionUserData(member.topics),
                keeps ? member.owned : List.of(),
                member.generation,
                member.rack);
            ByteBuffer bytes = ConsumerProtocol.serializeSubscription(told);
            ObjectNode sent = all.addObject();
            sent.put("id", member.id);
            sent.put("instance", member.instance.orElse(null));
            sent.put("subscription", hex(bytes));
            // As the leader receives it.
            Subscription got = ConsumerProtocol.deserializeSubscription(bytes);
            got.setGroupInstanceId(member.instance);
            subscriptions.put(member.id, got);
        }
        Map<String, Assignment> assigned =
            assignor.get().assign(cluster(), new GroupSubscription(subscriptions)).groupAssignment();
        ObjectNode given = row.putObject("assigned");
        for (Member member : members.values()) {
            List<TopicPartition> partitions = new ArrayList<>(assigned.get(member.id).partitions());
            partitions.sort(ORDER);
            given.put(member.id, hex(ConsumerProtocol.serializeAssignment(new Assignment(partitions))));
            // Some members miss a round, and join the next one with their old assignment.
            if (random.nextInt(12) > 0) {
                member.owned = partitions;
                member.generation = round;
                ConsumerGroupMetadata metadata = new ConsumerGroupMetadata("group", round, member.id, member.instance);
                member.assignor.onAssignment(new Assignment(partitions), metadata);
            }
        }
        return row;
    }

    private static String hex(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return HexFormat.of().formatHex(bytes);
    }

    public static void main(String[] args) throws IOException {
        int groups = args.length > 1 ? Integer.parseInt(args[1]) : 400;
        List<Supplier<ConsumerPartitionAssignor>> assignors = List.of(
            RangeAssignor::new, RoundRobinAssignor::new, StickyAssignor::new, CooperativeStickyAssignor::new);
        try (BufferedWriter writer = Files.newBufferedWriter(Path.of(args[0]))) {
            for (int group = 0; group < groups; group++) {
                for (int which = 0; which < assignors.size(); which++) {
                    Assignments scene = new Assignments(group, assignors.get(which));
                    for (int round = 0; round < (which < 2 ? 1 : 5); round++) {
                        if (round > 0) {
                            scene.change();
                        }
                        ObjectNode row = scene.assign(round);
                        row.put("group", group);
                        writer.write(JSON.writeValueAsString(row));
                        writer.newLine();
                    }
                }
            }
        }
    }
}
