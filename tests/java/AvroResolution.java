// What Avro's own reader makes of data of other writers' schemas, one JSON line each:
//   {"name", "reader", "writer", "payloads": [hex], "results": [value or {"error"}]}
// First the cases of CASES (avro_cases.json), then seeded random ones: a reader's schema, and a writer's derived from it by
// steps of evolution in both directions. Each pair has a truncated payload at the end.
// Values: floats are the hex digits of their bits; bytes and fixed are hex, decimals (of at most 76 digits) their
// unscaled integer; a record is an array, a map an array of sorted pairs; a value of a union of several types
// apart from null is {its number among them: value}. Text that is not UTF-8 is an error, as in no other type.
// Run: java -cp '<oracle jars>/*' tests/java/AvroResolution.java OUT CASES [PAIRS]

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedWriter;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import org.apache.avro.LogicalTypes;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.generic.IndexedRecord;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.Encoder;
import org.apache.avro.io.EncoderFactory;
import org.apache.avro.util.Utf8;

public final class AvroResolution {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final JsonNodeFactory NODE = JsonNodeFactory.instance;
    private static final HexFormat HEX = HexFormat.of();
    private static final List<String> PRIMITIVES =
        List.of("boolean", "int", "long", "float", "double", "bytes", "string");
    /** As names of types, so that a schema is a few lines. */
    private static final Map<String, String> LOGICAL = new LinkedHashMap<>();
    private static final int MAX_DEPTH = 4;
    private static final int VALUES = 4;

    static {
        for (String of : List.of("int date", "int time-millis", "long time-micros", "long timestamp-millis",
                "long timestamp-micros", "long timestamp-nanos", "long local-timestamp-millis",
                "long local-timestamp-micros", "long local-timestamp-nanos", "string uuid", "string unknown",
                "bytes big-decimal")) {
            String[] parts = of.split(" ");
            LOGICAL.put(parts[1], "{'type': '" + parts[0] + "', 'logicalType': '" + parts[1] + "'}");
        }
    }

    private final Random random;
    private int names;
    private int nodes;
    /** The definitions of named types that may be referred to, by name. */
    private final Map<String, ObjectNode> defined = new LinkedHashMap<>();
    private final Map<String, String> renamed = new LinkedHashMap<>();

    private AvroResolution(long seed) {
        random = new Random(seed);
    }

    private boolean chance(double of) {
        return random.nextDouble() < of;
    }

    private <T> T any(List<T> of) {
        return of.get(random.nextInt(of.size()));
    }

    // --- readers' schemas

    private JsonNode type(int depth, String namespace) {
        nodes++;
        if (depth >= MAX_DEPTH || nodes > 40 || chance(0.4)) {
            return leaf(namespace);
        }
        switch (random.nextInt(8)) {
            case 0, 1: return record(depth, namespace);
            case 2: return object("array", "items", type(depth + 1, namespace));
            case 3: return object("map", "values", type(depth + 1, namespace));
            case 4: return union(depth, namespace);
            default: {
                ArrayNode nullable = NODE.arrayNode().add("null");
                JsonNode of = type(depth + 1, namespace);
                if (of.isArray()) {
                    return of;
                }
                return chance(0.8) ? nullable.add(of) : NODE.arrayNode().add(of).add("null");
            }
        }
    }

    private JsonNode leaf(String namespace) {
        int choice = random.nextInt(20);
        if (choice < 10) {
            return NODE.textNode(any(PRIMITIVES));
        } else if (choice < 13) {
            return parse(any(List.copyOf(LOGICAL.values())));
        } else if (choice < 15) {
            int size = 1 + random.nextInt(20);
            int precision = 1 + random.nextInt(Math.min(76, (int) (2.4 * size)));
            ObjectNode decimal = choice < 14 ? object("bytes") : named("fixed", namespace).put("size", size);
            return decimal.put("logicalType", "decimal").put("precision", precision)
                .put("scale", random.nextInt(precision + 1));
        } else if (choice < 17) {
            ObjectNode fixed = named("fixed", namespace);
            return chance(0.3) ? fixed.put("size", 12).put("logicalType", "duration")
                : fixed.put("size", 1 + random.nextInt(5));
        } else if (choice < 19 || defined.isEmpty()) {
            ObjectNode type = named("enum", namespace);
            ArrayNode symbols = type.putArray("symbols");
            for (int i = 1 + random.nextInt(4); i > 0; i--) {
                symbols.add("S" + i);
            }
            if (chance(0.5)) {
                type.put("default", symbols.get(0).textValue());
            }
            return type;
        }
        return NODE.textNode(any(List.copyOf(defined.keySet())));
    }

    private static ObjectNode object(String type) {
        return NODE.objectNode().put("type", type);
    }

    private static ObjectNode object(String type, String of, JsonNode inner) {
        ObjectNode node = object(type);
        node.set(of, inner);
        return node;
    }

    /** A definition. The names of types are unique, whatever their namespace. */
    private ObjectNode named(String type, String namespace) {
        String name = "T" + names++;
        ObjectNode node = object(type);
        String own = chance(0.5) ? namespace : any(List.of("", "a", "a.b"));
        if (own.equals(namespace)) {
            node.put("name", name);
        } else if (own.isEmpty() || chance(0.5)) {
            node.put("name", name).put("namespace", own);
        } else {
            node.put("name", own + "." + name);
        }
        node.put("#", own);
        if (!type.equals("record")) {
            defined.put(own.isEmpty() ? name : own + "." + name, node);
        }
        return node;
    }

    private ObjectNode record(int depth, String namespace) {
        ObjectNode record = named("record", namespace);
        ArrayNode fields = NODE.arrayNode();
        for (int i = 1 + random.nextInt(depth == 0 ? 6 : 3); i > 0; i--) {
            fields.add(field("f" + i, depth, record.get("#").textValue()));
        }
        record.set("fields", fields);
        String own = record.get("#").textValue();
        String name = record.get("name").textValue();
        defined.put(own.isEmpty() || name.contains(".") ? name : own + "." + name, record);
        return record;
    }

    private ObjectNode field(String name, int depth, String namespace) {
        ObjectNode field = NODE.objectNode().put("name", name);
        JsonNode type = type(depth + 1, namespace);
        field.set("type", type);
        if (chance(0.5)) {
            field.set("default", defaultOf(type, 0));
        }
        return field;
    }

    private ArrayNode union(int depth, String namespace) {
        ArrayNode union = NODE.arrayNode();
        Set<String> kinds = new HashSet<>();
        for (int i = 1 + random.nextInt(4); i > 0; i--) {
            JsonNode branch = chance(0.2) ? NODE.textNode("null") : type(depth + 1, namespace);
            if (!branch.isArray() && kinds.add(kind(branch))) {
                union.add(branch);
            }
        }
        return kinds.isEmpty() || kinds.equals(Set.of("null")) ? union.add("int") : union;
    }

    /** Two branches of one union are of different kinds. */
    private static String kind(JsonNode type) {
        if (type.isTextual()) {
            return type.textValue();
        }
        return type.has("name") ? type.get("name").textValue() : type.get("type").textValue();
    }

    private JsonNode defaultOf(JsonNode type, int depth) {
        if (type.isArray()) {
            // Java's choice of a branch is only right if no earlier one has JSON of the same type, or is nested.
            int branch = 0;
            while (chance(0.3) && branch + 1 < type.size()
                    && List.of("null", "boolean").contains(kind(type.get(branch)))) {
                branch++;
            }
            return defaultOf(type.get(branch), depth);
        }
        if (type.isTextual() && defined.containsKey(type.textValue())) {
            return defaultOf(defined.get(type.textValue()), depth);
        }
        switch (type.isTextual() ? type.textValue() : type.get("type").textValue()) {
            case "null": return NODE.nullNode();
            case "boolean": return NODE.booleanNode(random.nextBoolean());
            case "int": return NODE.numberNode(any(List.of(0, -1, 7, Integer.MAX_VALUE, Integer.MIN_VALUE)));
            case "long": return NODE.numberNode(any(List.of(0L, -1L, 1L << 40, Long.MAX_VALUE, Long.MIN_VALUE)));
            case "float": return chance(0.2) && depth == 0 ? NODE.textNode("NaN")
                : NODE.numberNode(any(List.of(0f, -0f, 1.5f, 0.1f, Float.MAX_VALUE)));
            case "double": return chance(0.2) && depth == 0 ? NODE.textNode("-Infinity")
                : chance(0.2) ? NODE.numberNode(7) : NODE.numberNode(random.nextGaussian() * 1e9);
            case "bytes": return type.has("precision") ? NODE.textNode("\u0007") : NODE.textNode(any(List.of("\u0000", "\u00ff\u0001", "a\u0080")));
            case "fixed": {
                byte[] bytes = new byte[type.get("size").intValue()];
                if (!type.has("precision")) {
                    Arrays.fill(bytes, type.has("logicalType") ? 0x43 : (byte) 0xc3);
                }
                return NODE.textNode(new String(bytes, StandardCharsets.ISO_8859_1));
            }
            case "string": return NODE.textNode(any(TEXTS));
            case "enum": return type.get("symbols").get(random.nextInt(type.get("symbols").size()));
            case "array": {
                ArrayNode items = NODE.arrayNode();
                for (int i = random.nextInt(3); i > 0; i--) {
                    items.add(defaultOf(type.get("items"), depth + 1));
                }
                return items;
            }
            case "map": {
                ObjectNode entries = NODE.objectNode();
                for (int i = random.nextInt(3); i > 0; i--) {
                    entries.set("k" + i, defaultOf(type.get("values"), depth + 1));
                }
                return entries;
            }
            default: {
                ObjectNode record = NODE.objectNode();
                for (JsonNode field : type.get("fields")) {
                    if (!field.has("default") || chance(0.5)) {
                        record.set(field.get("name").textValue(), defaultOf(field.get("type"), depth + 1));
                    }
                }
                return record;
            }
        }
    }

    // --- evolution: from a reader's type to the writer's; the reader's gets aliases

    private JsonNode evolve(JsonNode reader, boolean inUnion) {
        if (reader.isArray()) {
            return evolveUnion((ArrayNode) reader);
        }
        JsonNode writer = evolveType(reader);
        if (inUnion || !chance(0.07)) {
            return writer;
        }
        ArrayNode union = NODE.arrayNode().add("null");
        union.insert(random.nextInt(2), writer);
        if (chance(0.3) && !kind(writer).equals("boolean")) {
            union.insert(random.nextInt(3), "boolean");
        }
        return kind(writer).equals("null") ? writer : union;
    }

    private JsonNode evolveUnion(ArrayNode reader) {
        List<JsonNode> branches = new ArrayList<>();
        Set<String> kinds = new HashSet<>();
        for (JsonNode branch : reader) {
            JsonNode evolved = chance(0.5) ? evolve(branch, true) : copy(branch);
            if (kinds.add(kind(evolved))) {
                branches.add(evolved);
            }
        }
        if (chance(0.15)) {
            return branches.get(random.nextInt(branches.size()));
        }
        if (chance(0.15) && branches.size() > 1) {
            branches.remove(random.nextInt(branches.size()));
        }
        if (chance(0.15) && kinds.add("null")) {
            branches.add(NODE.textNode("null"));
        }
        if (chance(0.1)) {
            // No text, which may be promoted to a decimal.
            JsonNode more = NODE.textNode(any(PRIMITIVES.subList(0, 5)));
            if (kinds.add(kind(more))) {
                branches.add(more);
            }
        }
        if (chance(0.15)) {
            Collections.shuffle(branches, random);
        }
        return NODE.arrayNode().addAll(branches);
    }

    private JsonNode evolveType(JsonNode reader) {
        String type = reader.isTextual() ? reader.textValue() : reader.get("type").textValue();
        if (chance(0.01) && !reader.has("precision")) {
            return NODE.textNode(any(PRIMITIVES));
        }
        switch (type) {
            case "long": return chance(0.2) ? NODE.textNode("int") : plain(reader);
            case "float": return chance(0.2) ? NODE.textNode(any(List.of("int", "long"))) : reader;
            case "double": return chance(0.2) ? NODE.textNode(any(List.of("int", "long", "float"))) : reader;
            case "bytes": return !reader.has("precision") && chance(0.2) ? NODE.textNode("string") : plain(reader);
            case "string": return chance(0.2) ? NODE.textNode("bytes") : plain(reader);
            case "array": {
                JsonNode items = evolve(reader.get("items"), false);
                return object("array", "items", takesNoBytes(items) ? NODE.textNode("boolean") : items);
            }
            case "map": return object("map", "values", evolve(reader.get("values"), false));
            case "fixed": {
                ObjectNode writer = rename((ObjectNode) reader);
                return chance(0.02) ? writer.put("size", 13) : writer;
            }
            case "enum": return evolveEnum((ObjectNode) reader);
            case "record": return evolveRecord((ObjectNode) reader);
            default: return reader;
        }
    }

    private static boolean takesNoBytes(JsonNode type) {
        if (type.isArray() || !type.has("fields")) {
            return type.isTextual() && type.textValue().equals("null");
        }
        boolean none = true;
        for (JsonNode field : type.get("fields")) {
            none &= takesNoBytes(field.get("type"));
        }
        return none;
    }

    /** Sometimes without the logical type, unless that limits the values. */
    private JsonNode plain(JsonNode reader) {
        return reader.isObject() && !reader.has("precision") && chance(0.3) ? reader.get("type") : copy(reader);
    }

    private static JsonNode copy(JsonNode of) {
        return of.deepCopy();
    }

    private ObjectNode rename(ObjectNode reader) {
        ObjectNode writer = NODE.objectNode();
        reader.properties().forEach(entry -> writer.set(entry.getKey(), entry.getValue()));
        if (!chance(0.15)) {
            return writer;
        }
        String name = reader.get("name").textValue();
        String own = reader.get("#").textValue();
        String simple = name.substring(name.lastIndexOf('.') + 1);
        String other = "Old" + simple;
        String space = chance(0.7) ? own : any(List.of("", "a", "c"));
        String full = space.isEmpty() ? other : space + "." + other;
        writer.put("name", other).put("namespace", space);
        String now = own.isEmpty() ? simple : own + "." + simple;
        renamed.put(now, full);
        if (chance(0.75)) {
            reader.putArray("aliases").add(space.equals(own) && chance(0.5) ? other : full);
            if (space.isEmpty() && !own.isEmpty()) {
                reader.putArray("aliases").add("." + other);
            }
        }
        return writer;
    }

    private JsonNode evolveEnum(ObjectNode reader) {
        ObjectNode writer = rename(reader);
        List<JsonNode> symbols = new ArrayList<>();
        reader.get("symbols").forEach(symbols::add);
        if (chance(0.2)) {
            symbols.add(NODE.textNode("NEW"));
        }
        if (chance(0.2) && symbols.size() > 1) {
            symbols.remove(0);
        }
        if (chance(0.2)) {
            Collections.shuffle(symbols, random);
        }
        writer.putArray("symbols").addAll(symbols);
        writer.remove("default");
        return writer;
    }

    private JsonNode evolveRecord(ObjectNode reader) {
        ObjectNode writer = rename(reader);
        List<JsonNode> fields = new ArrayList<>();
        for (JsonNode field : reader.get("fields")) {
            if (chance(field.has("default") ? 0.2 : 0.01)) {
                continue;
            }
            ObjectNode evolved = NODE.objectNode();
            String name = field.get("name").textValue();
            if (chance(0.12)) {
                String old = "old_" + name;
                evolved.put("name", old);
                if (chance(0.9)) {
                    ((ObjectNode) field).putArray("aliases").add(old);
                }
            } else {
                evolved.put("name", name);
            }
            evolved.set("type", evolve(field.get("type"), false));
            fields.add(evolved);
        }
        if (chance(0.2)) {
            // Without references: one to this record would make it recursive.
            defined.clear();
            ObjectNode more = field("more", 2, reader.get("#").textValue());
            more.remove("default");
            fields.add(random.nextInt(fields.size() + 1), more);
            defined.clear();
        }
        if (chance(0.2)) {
            Collections.shuffle(fields, random);
        }
        writer.putArray("fields").addAll(fields);
        return writer;
    }

    /** The text of a schema, without our marks, with references to their types' present names. */
    private String text(JsonNode schema, boolean isWriter) {
        return clean(schema, isWriter).toString();
    }

    private JsonNode clean(JsonNode type, boolean isWriter) {
        if (type.isTextual()) {
            String now = isWriter ? renamed.get(type.textValue()) : null;
            return now == null ? type : NODE.textNode(now);
        }
        if (type.isArray()) {
            ArrayNode out = NODE.arrayNode();
            type.forEach(branch -> out.add(clean(branch, isWriter)));
            return out;
        }
        ObjectNode out = NODE.objectNode();
        type.properties().forEach(entry -> {
            switch (entry.getKey()) {
                case "#" -> { }
                case "items", "values" -> out.set(entry.getKey(), clean(entry.getValue(), isWriter));
                case "fields" -> {
                    ArrayNode fields = out.putArray("fields");
                    for (JsonNode field : entry.getValue()) {
                        ObjectNode cleaned = (ObjectNode) copy(field);
                        cleaned.set("type", clean(field.get("type"), isWriter));
                        if (isWriter) {
                            cleaned.remove("default"); // it may not fit a type that evolved
                        }
                        fields.add(cleaned);
                    }
                }
                default -> out.set(entry.getKey(), entry.getValue());
            }
        });
        return out;
    }

    // --- values

    private static final List<String> TEXTS =
        List.of("", "a", "plain text", "\u00e9\u4e16", "\ud83d\ude00 pair", "\u0000", "x".repeat(70));

    private Object value(Schema schema, int depth) {
        switch (schema.getType()) {
            case NULL: return null;
            case BOOLEAN: return random.nextBoolean();
            case INT: return chance(0.5) ? random.nextInt(200) - 100
                : (Object) any(List.of(Integer.MIN_VALUE, Integer.MAX_VALUE, 16777217, random.nextInt()));
            case LONG: return chance(0.5) ? (long) random.nextInt(200) - 100
                : (Object) any(List.of(Long.MIN_VALUE, Long.MAX_VALUE, (1L << 53) + 1, random.nextLong()));
            case FLOAT: return any(List.of(0f, -0f, 1.5f, Float.NaN, Float.POSITIVE_INFINITY,
                Float.NEGATIVE_INFINITY, Float.MIN_VALUE, Float.MAX_VALUE, random.nextFloat()));
            case DOUBLE: return any(List.of(0d, -0d, 1.5, Double.NaN, Double.POSITIVE_INFINITY,
                Double.NEGATIVE_INFINITY, Double.MIN_VALUE, Double.MAX_VALUE, random.nextGaussian()));
            case STRING: return any(TEXTS);
            case BYTES: {
                if (schema.getLogicalType() instanceof LogicalTypes.Decimal) {
                    return ByteBuffer.wrap(decimal(schema).toByteArray());
                }
                // Mostly text, which may become a string; a decimal at the reader holds them, too.
                return ByteBuffer.wrap(chance(0.9) ? any(TEXTS).getBytes(StandardCharsets.UTF_8)
                    : new byte[] {(byte) 0xff, 0, (byte) 0x80});
            }
            case FIXED: {
                byte[] bytes = new byte[schema.getFixedSize()];
                if (schema.getLogicalType() instanceof LogicalTypes.Decimal) {
                    byte[] number = decimal(schema).toByteArray();
                    Arrays.fill(bytes, number[0] < 0 ? (byte) -1 : 0);
                    System.arraycopy(number, 0, bytes, bytes.length - number.length, number.length);
                } else {
                    random.nextBytes(bytes);
                    for (int i = 3; bytes.length == 12 && i < 12; i += 4) {
                        bytes[i] &= 0x7f; // a duration that Arrow's has room for
                    }
                }
                return new GenericData.Fixed(schema, bytes);
            }
            case ENUM: return new GenericData.EnumSymbol(schema, any(schema.getEnumSymbols()));
            case ARRAY: {
                List<Object> items = new GenericData.Array<>(4, schema);
                for (int i = random.nextInt(depth > 3 ? 2 : 4); i > 0; i--) {
                    items.add(value(schema.getElementType(), depth + 1));
                }
                return items;
            }
            case MAP: {
                Map<String, Object> entries = new TreeMap<>();
                for (int i = random.nextInt(depth > 3 ? 2 : 4); i > 0; i--) {
                    entries.put(any(TEXTS), value(schema.getValueType(), depth + 1));
                }
                return entries;
            }
            case UNION: return value(any(schema.getTypes()), depth);
            default: {
                GenericData.Record record = new GenericData.Record(schema);
                for (Schema.Field field : schema.getFields()) {
                    record.put(field.pos(), value(field.schema(), depth + 1));
                }
                return record;
            }
        }
    }

    private BigInteger decimal(Schema schema) {
        BigInteger bound = BigInteger.TEN.pow(((LogicalTypes.Decimal) schema.getLogicalType()).getPrecision());
        BigInteger number = switch (random.nextInt(4)) {
            case 0 -> BigInteger.ZERO;
            case 1 -> bound.subtract(BigInteger.ONE);
            default -> new BigInteger(bound.bitLength(), random).mod(bound);
        };
        return random.nextBoolean() ? number : number.negate();
    }

    private byte[] encode(Schema schema, Object value) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        // The blocking encoder writes the size of each block.
        Encoder encoder = chance(0.75) ? EncoderFactory.get().binaryEncoder(out, null)
            : new EncoderFactory().configureBlockSize(64).blockingBinaryEncoder(out, null);
        new GenericDatumWriter<>(schema).write(value, encoder);
        encoder.flush();
        return out.toByteArray();
    }

    // --- results

    private static JsonNode decode(Schema writer, Schema reader, byte[] payload) {
        try {
            // A stream, because Avro 1.12.2 compares the bytes that are left in an array with the size of the items of
            // the reader, and refuses a block of ints that become doubles.
            InputStream stream = new ByteArrayInputStream(payload);
            Object value = new GenericDatumReader<>(writer, reader)
                .read(null, DecoderFactory.get().directBinaryDecoder(stream, null));
            return canonical(reader, value);
        } catch (IOException | RuntimeException error) {
            return NODE.objectNode().put("error", String.valueOf(error.getMessage()));
        }
    }

    private static JsonNode canonical(Schema schema, Object value) throws IOException {
        switch (schema.getType()) {
            case NULL: return NODE.nullNode();
            case BOOLEAN: return NODE.booleanNode((Boolean) value);
            case INT: return NODE.numberNode((Integer) value);
            case LONG: return NODE.numberNode((Long) value);
            case FLOAT: return NODE.textNode(Integer.toHexString(Float.floatToIntBits((Float) value)));
            case DOUBLE: return NODE.textNode(Long.toHexString(Double.doubleToLongBits((Double) value)));
            case STRING: return NODE.textNode(text((CharSequence) value));
            case BYTES: return bytes(schema, ByteBuffer.class.cast(value));
            case FIXED: return bytes(schema, ByteBuffer.wrap(((GenericData.Fixed) value).bytes()));
            case ENUM: return NODE.textNode(value.toString());
            case ARRAY: {
                ArrayNode out = NODE.arrayNode();
                for (Object item : (List<?>) value) {
                    out.add(canonical(schema.getElementType(), item));
                }
                return out;
            }
            case MAP: {
                Map<Utf8, JsonNode> sorted = new TreeMap<>();
                for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
                    Utf8 key = new Utf8(text((CharSequence) entry.getKey()));
                    sorted.put(key, canonical(schema.getValueType(), entry.getValue()));
                }
                ArrayNode out = NODE.arrayNode();
                sorted.forEach((key, of) -> out.add(NODE.arrayNode().add(key.toString()).add(of)));
                return out;
            }
            case UNION: {
                int branch = GenericData.get().resolveUnion(schema, value);
                List<Schema> types = schema.getTypes();
                if (types.get(branch).getType() == Schema.Type.NULL) {
                    return NODE.nullNode();
                }
                long nulls = types.stream().filter(type -> type.getType() == Schema.Type.NULL).count();
                long before =
                    types.subList(0, branch).stream().filter(type -> type.getType() == Schema.Type.NULL).count();
                JsonNode out = canonical(types.get(branch), value);
                return types.size() - nulls == 1 ? out
                    : NODE.objectNode().set(Long.toString(branch - before), out);
            }
            default: {
                ArrayNode out = NODE.arrayNode();
                for (Schema.Field field : schema.getFields()) {
                    out.add(canonical(field.schema(), ((IndexedRecord) value).get(field.pos())));
                }
                return out;
            }
        }
    }

    private static String text(CharSequence value) throws CharacterCodingException {
        if (value instanceof Utf8 utf8) {
            ByteBuffer bytes = ByteBuffer.wrap(utf8.getBytes(), 0, utf8.getByteLength());
            return StandardCharsets.UTF_8.newDecoder().decode(bytes).toString();
        }
        return value.toString();
    }

    private static JsonNode bytes(Schema schema, ByteBuffer value) {
        byte[] bytes = new byte[value.remaining()];
        value.duplicate().get(bytes);
        boolean isDecimal =
            schema.getLogicalType() instanceof LogicalTypes.Decimal decimal && decimal.getPrecision() <= 76;
        return NODE.textNode(isDecimal ? new BigInteger(bytes).toString() : HEX.formatHex(bytes));
    }

    // --- lines

    @SuppressWarnings("deprecation") // the only way to accept such defaults
    private static Schema schema(String text) {
        // As Confluent's deserializer and Spark parse a schema that is registered already.
        return new Schema.Parser().setValidateDefaults(false).parse(text);
    }

    private static JsonNode parse(String quoted) {
        try {
            return JSON.readTree(quoted.replace('\'', '"'));
        } catch (IOException error) {
            throw new IllegalArgumentException(quoted, error);
        }
    }

    private ObjectNode pair(String name, String reader, String writer, String... raw) throws IOException {
        Schema expected = schema(reader);
        Schema actual = schema(writer);
        List<byte[]> payloads = new ArrayList<>();
        for (String hex : raw) {
            payloads.add(HEX.parseHex(hex));
        }
        for (int i = raw.length == 0 ? VALUES : 0; i > 0; i--) {
            payloads.add(encode(actual, value(actual, 0)));
        }
        byte[] last = payloads.get(payloads.size() - 1);
        if (raw.length == 0 && last.length > 0) {
            payloads.add(Arrays.copyOf(last, random.nextInt(last.length)));
        }
        ObjectNode line = NODE.objectNode().put("name", name);
        line.set("reader", JSON.readTree(reader));
        line.set("writer", JSON.readTree(writer));
        ArrayNode encoded = line.putArray("payloads");
        ArrayNode results = line.putArray("results");
        for (byte[] payload : payloads) {
            encoded.add(HEX.formatHex(payload));
            results.add(decode(actual, expected, payload));
        }
        return line;
    }

    private ObjectNode randomPair(int number) throws IOException {
        JsonNode reader = chance(0.7) ? record(0, "") : type(0, "");
        JsonNode writer = evolve(reader, false);
        return pair("random " + number, text(reader, false), text(writer, true));
    }

    public static void main(String[] args) throws IOException {
        int pairs = args.length > 2 ? Integer.parseInt(args[2]) : 2000;
        JsonNode cases = JSON.readTree(Path.of(args[1]).toFile());
        int unusable = 0;
        try (BufferedWriter out = Files.newBufferedWriter(Path.of(args[0]))) {
            for (JsonNode of : cases) {
                List<String> payloads = new ArrayList<>();
                of.path("payloads").forEach(payload -> payloads.add(payload.textValue()));
                String[] raw = payloads.toArray(new String[0]);
                AvroResolution pair = new AvroResolution(of.get("name").textValue().hashCode());
                try {
                    String reader = of.get("reader").toString();
                    String writer = of.get("writer").toString();
                    out.write(pair.pair(of.get("name").textValue(), reader, writer, raw) + "\n");
                } catch (RuntimeException error) {
                    throw new IllegalArgumentException(of.get("name").textValue(), error);
                }
            }
            for (int seed = 0, made = 0; made < pairs; seed++) {
                try {
                    out.write(new AvroResolution(seed).randomPair(made) + "\n");
                    made++;
                } catch (org.apache.avro.AvroRuntimeException error) {
                    // A reference to a type that evolution removed.
                    if (++unusable > pairs) {
                        throw error;
                    }
                }
            }
        }
    }
}
