// A byte-level oracle from Kafka's own message classes; one command per run:
//   schemas OUT          every schema a client needs, comments stripped, as {"name": schema}
//   vectors OUT [N]      N seeded random documents per message and version, one JSON line each:
//                        {"message", "version", "hex": bytes by Java, "json": the document}
// The generated *JsonConverter classes read and write documents; this program encodes nothing.
// Run: java -cp '<oracle jars>/*' tests/java/MessageVectors.java schemas|vectors OUT

import com.fasterxml.jackson.core.json.JsonReadFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedWriter;
import java.io.InputStream;
import java.lang.reflect.Method;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;

public final class MessageVectors {
    private static final JsonMapper JSON =
        JsonMapper.builder().enable(JsonReadFeature.ALLOW_JAVA_COMMENTS).build();
    private static final Set<String> WITHOUT_LISTENERS = Set.of(
        "RequestHeader", "ResponseHeader", "ConsumerProtocolSubscription", "ConsumerProtocolAssignment",
        "EndTxnMarker");

    public static void main(String[] args) throws Exception {
        Map<String, JsonNode> schemas = readSchemas();
        Path out = Path.of(args[1]);
        switch (args[0]) {
            case "schemas" -> JSON.writerWithDefaultPrettyPrinter().writeValue(out.toFile(), schemas);
            case "vectors" -> writeVectors(schemas, out, args.length > 2 ? Integer.parseInt(args[2]) : 8);
            default -> throw new IllegalArgumentException("unknown command " + args[0]);
        }
    }

    /** The requests that brokers accept, and their responses, in all supported versions; by name. */
    private static Map<String, JsonNode> readSchemas() throws Exception {
        Map<String, JsonNode> all = new TreeMap<>();
        Set<Integer> brokerApis = new HashSet<>();
        URI jar = URI.create("jar:" + Message.class.getProtectionDomain().getCodeSource().getLocation());
        try (FileSystem files = FileSystems.newFileSystem(jar, Map.of());
             Stream<Path> listing = Files.list(files.getPath("common", "message"))) {
            for (Path path : listing.filter(p -> p.toString().endsWith(".json")).collect(Collectors.toList())) {
                try (InputStream in = Files.newInputStream(path)) {
                    JsonNode schema = JSON.readTree(in);
                    all.put(schema.get("name").asText(), schema);
                    for (JsonNode listener : schema.path("listeners")) {
                        if (listener.asText().equals("broker")) brokerApis.add(schema.get("apiKey").asInt());
                    }
                }
            }
        }
        all.values().removeIf(schema -> schema.path("validVersions").asText().equals("none")
            || !(WITHOUT_LISTENERS.contains(schema.get("name").asText())
                || brokerApis.contains(schema.path("apiKey").asInt(-1))));
        return all;
    }

    private static void writeVectors(Map<String, JsonNode> schemas, Path out, int documents) throws Exception {
        try (BufferedWriter writer = Files.newBufferedWriter(out)) {
            for (JsonNode schema : schemas.values()) {
                Codec codec = new Codec(schema);
                Versions valid = Versions.parse(schema.get("validVersions"));
                for (int version = valid.lowest; version <= valid.highest; version++) {
                    for (int i = 0; i < documents; i++) {
                        writer.write(JSON.writeValueAsString(codec.vector((short) version, i)));
                        writer.newLine();
                    }
                }
            }
        }
    }

    /** One message type: random documents, and Kafka's generated classes to encode them. */
    private static final class Codec {
        private final JsonNode schema;
        private final Documents documents;
        private final Method read;
        private final Method write;

        Codec(JsonNode schema) throws ReflectiveOperationException {
            this.schema = schema;
            this.documents = new Documents(schema);
            // Class names end in "Data", except for those of the consumer protocol.
            String name = "org.apache.kafka.common.message." + schema.get("name").asText()
                + (schema.get("type").asText().equals("data") ? "" : "Data");
            Class<?> converter = Class.forName(name + "JsonConverter");
            this.read = converter.getMethod("read", JsonNode.class, short.class);
            this.write = converter.getMethod("write", Class.forName(name), short.class);
        }

        ObjectNode vector(short version, int index) throws Exception {
            JsonNode document = documents.next(version, index);
            Message message = (Message) read.invoke(null, document, version);
            ObjectSerializationCache cache = new ObjectSerializationCache();
            ByteBuffer bytes = ByteBuffer.allocate(message.size(cache, version));
            message.write(new ByteBufferAccessor(bytes), cache, version);
            if (bytes.hasRemaining()) throw new IllegalStateException(schema.get("name") + ": size and bytes differ");
            JsonNode canonical = (JsonNode) write.invoke(null, message, version);
            restoreRecords(document, canonical);
            ObjectNode vector = JSON.createObjectNode();
            vector.put("message", schema.get("name").asText());
            vector.put("version", version);
            vector.put("hex", HexFormat.of().formatHex(bytes.array()));
            vector.set("json", canonical);
            return vector;
        }

        /** Restores the record sets of the document, which the converters write as empty. */
        private void restoreRecords(JsonNode from, JsonNode to) {
            if (from.isArray()) {
                for (int i = 0; i < from.size(); i++) restoreRecords(from.get(i), to.get(i));
            } else if (from.isObject()) {
                from.properties().forEach(field -> {
                    if (documents.recordFields.contains(field.getKey())) {
                        ((ObjectNode) to).set(field.getKey(), field.getValue());
                    } else if (to.has(field.getKey())) {
                        restoreRecords(field.getValue(), to.get(field.getKey()));
                    }
                });
            }
        }
    }

    /** Random JSON documents that conform to one schema, identical in every run. */
    private static final class Documents {
        private static final JsonNodeFactory NODES = JsonNodeFactory.instance;
        private static final int[] LETTERS = "abcXYZ019-._ \u00e4\u00df\u00e9\u4e2d\u6587\u03a9\ud83e\udd80".codePoints().toArray();

        final Set<String> recordFields = new HashSet<>();
        private final JsonNode schema;
        private final Map<String, JsonNode> structs = new HashMap<>();
        private Random random;
        private double present; // how likely a field is not null, not empty, not left at its default
        private short version;

        Documents(JsonNode schema) {
            this.schema = schema;
            for (JsonNode struct : schema.path("commonStructs")) {
                structs.put(struct.get("name").asText(), struct.get("fields"));
                collect(struct.get("fields"));
            }
            collect(schema.get("fields"));
        }

        private void collect(JsonNode fields) {
            for (JsonNode field : fields) {
                String type = field.get("type").asText();
                if (type.equals("records")) recordFields.add(key(field));
                if (field.has("fields")) {
                    structs.put(type.replace("[]", ""), field.get("fields"));
                    collect(field.get("fields"));
                }
            }
        }

        /** The first document of a version has all optional fields absent, the second has all present. */
        JsonNode next(short version, int index) {
            this.version = version;
            this.random = new Random((schema.get("name").asText() + '/' + version + '/' + index).hashCode());
            this.present = index == 0 ? 0 : index == 1 ? 1 : 0.7;
            return struct(schema.get("fields"), 0);
        }

        private ObjectNode struct(JsonNode fields, int depth) {
            ObjectNode document = NODES.objectNode();
            for (JsonNode field : fields) {
                if (!Versions.parse(field.get("versions")).contains(version)) continue;
                boolean tagged = Versions.parse(field.get("taggedVersions")).contains(version);
                if (tagged && !chance()) continue;
                boolean nullable = Versions.parse(field.get("nullableVersions")).contains(version);
                document.set(key(field), nullable && !chance() ? NODES.nullNode()
                    : value(field.get("type").asText(), field.get("default"), depth));
            }
            return document;
        }

        private JsonNode value(String type, JsonNode standard, int depth) {
            if (type.startsWith("[]")) {
                ArrayNode array = NODES.arrayNode();
                int length = !chance() ? 0 : 1 + random.nextInt(depth > 2 ? 1 : 3);
                for (int i = 0; i < length; i++) array.add(value(type.substring(2), null, depth + 1));
                return array;
            }
            boolean atDefault = standard != null && !chance();
            return switch (type) {
                case "bool" -> NODES.booleanNode(atDefault ? standard.asBoolean() : present == 1 || random.nextBoolean());
                case "int8", "int16", "int32", "int64" -> atDefault
                    ? NODES.numberNode(Long.decode(standard.asText()))
                    : NODES.numberNode(integer(Integer.parseInt(type.substring(3))));
                case "uint16" -> NODES.numberNode(random.nextInt(1 << 16));
                case "uint32" -> NODES.numberNode(random.nextLong() >>> 32);
                // Eighths, which JSON represents exactly.
                case "float64" -> NODES.numberNode(random.nextInt() / 8.0);
                case "string" -> NODES.textNode(string());
                case "uuid" -> NODES.textNode((chance() ? uuid() : Uuid.ZERO_UUID).toString());
                case "bytes", "records" -> NODES.binaryNode(bytes());
                default -> struct(structs.get(type), depth + 1);
            };
        }

        private boolean chance() {
            return random.nextDouble() < present;
        }

        /** Values of all widths, which reveal truncated, swapped and sign-extended fields. */
        private long integer(int bits) {
            return random.nextLong() >> (64 - 1 - random.nextInt(bits));
        }

        private Uuid uuid() {
            return new Uuid(random.nextLong(), random.nextLong());
        }

        private int length() {
            // Above 127, the compact length takes a second byte.
            return !chance() ? 0 : random.nextInt(20) == 0 ? 120 + random.nextInt(300) : 1 + random.nextInt(12);
        }

        private String string() {
            return random.ints(length(), 0, LETTERS.length)
                .mapToObj(i -> Character.toString(LETTERS[i])).collect(Collectors.joining());
        }

        private byte[] bytes() {
            byte[] bytes = new byte[length()];
            random.nextBytes(bytes);
            return bytes;
        }

        private static String key(JsonNode field) {
            String name = field.get("name").asText();
            return Character.toLowerCase(name.charAt(0)) + name.substring(1);
        }
    }

    /** Kafka's notation of versions: "3", "0-5", "7+", "none". */
    private record Versions(int lowest, int highest) {
        static Versions parse(JsonNode node) {
            String text = node == null ? "none" : node.asText();
            if (text.equals("none")) return new Versions(1, 0);
            if (text.endsWith("+")) return new Versions(Integer.parseInt(text.replace("+", "")), Short.MAX_VALUE);
            List<Integer> ends = Stream.of(text.split("-")).map(Integer::valueOf).toList();
            return new Versions(ends.get(0), ends.get(ends.size() - 1));
        }

        boolean contains(int version) {
            return lowest <= version && version <= highest;
        }
    }
}
