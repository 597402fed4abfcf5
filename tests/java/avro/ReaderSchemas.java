// Random schemas, as JSON. The property "#" of a named type is its namespace; it is a mark of ours.
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

final class ReaderSchemas {
    static final List<String> PRIMITIVES = List.of("boolean", "int", "long", "float", "double", "bytes", "string");
    private static final JsonNodeFactory NODE = JsonNodeFactory.instance;
    private static final int MAX_DEPTH = 4;
    private static final List<ObjectNode> LOGICAL = new ArrayList<>();

    static {
        for (String of : List.of("int date", "int time-millis", "long time-micros", "long timestamp-millis",
                "long timestamp-micros", "long timestamp-nanos", "long local-timestamp-millis",
                "long local-timestamp-micros", "long local-timestamp-nanos", "string uuid", "string unknown",
                "bytes big-decimal")) {
            String[] parts = of.split(" ");
            LOGICAL.add(object(parts[0]).put("logicalType", parts[1]));
        }
    }

    /** The definitions of named types that may be referred to, by name. */
    final Map<String, ObjectNode> defined = new LinkedHashMap<>();
    private final Dice dice;
    private int names;
    private int nodes;

    ReaderSchemas(Dice dice) {
        this.dice = dice;
    }

    JsonNode schema() {
        return dice.chance(0.7) ? record(0, "") : type(0, "");
    }

    JsonNode type(int depth, String namespace) {
        nodes++;
        if (depth >= MAX_DEPTH || nodes > 40 || dice.chance(0.4)) {
            return leaf(namespace);
        }
        switch (dice.below(8)) {
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
                return dice.chance(0.8) ? nullable.add(of) : NODE.arrayNode().add(of).add("null");
            }
        }
    }

    private JsonNode leaf(String namespace) {
        int choice = dice.below(20);
        if (choice < 10) {
            return NODE.textNode(dice.any(PRIMITIVES));
        } else if (choice < 13) {
            return dice.any(List.copyOf(LOGICAL));
        } else if (choice < 15) {
            int size = 1 + dice.below(20);
            int precision = 1 + dice.below(Math.min(76, (int) (2.4 * size)));
            ObjectNode decimal = choice < 14 ? object("bytes") : named("fixed", namespace).put("size", size);
            return decimal.put("logicalType", "decimal").put("precision", precision)
                .put("scale", dice.below(precision + 1));
        } else if (choice < 17) {
            ObjectNode fixed = named("fixed", namespace);
            return dice.chance(0.3) ? fixed.put("size", 12).put("logicalType", "duration")
                : fixed.put("size", 1 + dice.below(5));
        } else if (choice < 19 || defined.isEmpty()) {
            ObjectNode type = named("enum", namespace);
            ArrayNode symbols = type.putArray("symbols");
            for (int i = 1 + dice.below(4); i > 0; i--) {
                symbols.add("S" + i);
            }
            if (dice.chance(0.5)) {
                type.put("default", symbols.get(0).textValue());
            }
            return type;
        }
        return NODE.textNode(dice.any(List.copyOf(defined.keySet())));
    }

    static ObjectNode object(String type) {
        return NODE.objectNode().put("type", type);
    }

    static ObjectNode object(String type, String of, JsonNode inner) {
        ObjectNode node = object(type);
        node.set(of, inner);
        return node;
    }

    /** A definition. The names of types are unique, whatever their namespace. */
    private ObjectNode named(String type, String namespace) {
        String name = "T" + names++;
        ObjectNode node = object(type);
        String own = dice.chance(0.5) ? namespace : dice.any(List.of("", "a", "a.b"));
        if (own.equals(namespace)) {
            node.put("name", name);
        } else if (own.isEmpty() || dice.chance(0.5)) {
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

    ObjectNode record(int depth, String namespace) {
        ObjectNode record = named("record", namespace);
        ArrayNode fields = NODE.arrayNode();
        for (int i = 1 + dice.below(depth == 0 ? 6 : 3); i > 0; i--) {
            fields.add(field("f" + i, depth, record.get("#").textValue()));
        }
        record.set("fields", fields);
        String own = record.get("#").textValue();
        String name = record.get("name").textValue();
        defined.put(own.isEmpty() || name.contains(".") ? name : own + "." + name, record);
        return record;
    }

    ObjectNode field(String name, int depth, String namespace) {
        ObjectNode field = NODE.objectNode().put("name", name);
        JsonNode type = type(depth + 1, namespace);
        field.set("type", type);
        if (dice.chance(0.5)) {
            field.set("default", defaultOf(type, 0));
        }
        return field;
    }

    private ArrayNode union(int depth, String namespace) {
        ArrayNode union = NODE.arrayNode();
        Set<String> kinds = new HashSet<>();
        for (int i = 1 + dice.below(4); i > 0; i--) {
            JsonNode branch = dice.chance(0.2) ? NODE.textNode("null") : type(depth + 1, namespace);
            if (!branch.isArray() && kinds.add(kind(branch))) {
                union.add(branch);
            }
        }
        return kinds.isEmpty() || kinds.equals(Set.of("null")) ? union.add("int") : union;
    }

    /** Two branches of one union are of different kinds. */
    static String kind(JsonNode type) {
        if (type.isTextual()) {
            return type.textValue();
        }
        return type.has("name") ? type.get("name").textValue() : type.get("type").textValue();
    }

    JsonNode defaultOf(JsonNode type, int depth) {
        if (type.isArray()) {
            // Java's choice of a branch is only right if no earlier one has JSON of the same type, or is nested.
            int branch = 0;
            while (dice.chance(0.3) && branch + 1 < type.size()
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
            case "boolean": return NODE.booleanNode(dice.chance(0.5));
            case "int": return NODE.numberNode(dice.any(List.of(0, -1, 7, Integer.MAX_VALUE, Integer.MIN_VALUE)));
            case "long": return NODE.numberNode(dice.any(List.of(0L, -1L, 1L << 40, Long.MAX_VALUE, Long.MIN_VALUE)));
            case "float": return dice.chance(0.2) && depth == 0 ? NODE.textNode("NaN")
                : NODE.numberNode(dice.any(List.of(0f, -0f, 1.5f, 0.1f, Float.MAX_VALUE)));
            case "double": return dice.chance(0.2) && depth == 0 ? NODE.textNode("-Infinity")
                : dice.chance(0.2) ? NODE.numberNode(7) : NODE.numberNode(dice.random.nextGaussian() * 1e9);
            case "bytes": return type.has("precision") ? NODE.textNode("\u0007") : NODE.textNode(dice.any(List.of("\u0000", "\u00ff\u0001", "a\u0080")));
            case "fixed": {
                byte[] bytes = new byte[type.get("size").intValue()];
                if (!type.has("precision")) {
                    Arrays.fill(bytes, type.has("logicalType") ? 0x43 : (byte) 0xc3);
                }
                return NODE.textNode(new String(bytes, StandardCharsets.ISO_8859_1));
            }
            case "string": return NODE.textNode(dice.any(Values.TEXTS));
            case "enum": return type.get("symbols").get(dice.below(type.get("symbols").size()));
            case "array": {
                ArrayNode items = NODE.arrayNode();
                for (int i = dice.below(3); i > 0; i--) {
                    items.add(defaultOf(type.get("items"), depth + 1));
                }
                return items;
            }
            case "map": {
                ObjectNode entries = NODE.objectNode();
                for (int i = dice.below(3); i > 0; i--) {
                    entries.set("k" + i, defaultOf(type.get("values"), depth + 1));
                }
                return entries;
            }
            default: {
                ObjectNode record = NODE.objectNode();
                for (JsonNode field : type.get("fields")) {
                    if (!field.has("default") || dice.chance(0.5)) {
                        record.set(field.get("name").textValue(), defaultOf(field.get("type"), depth + 1));
                    }
                }
                return record;
            }
        }
    }
}
