// Steps of evolution in both directions: from a reader's schema to a writer's.
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

final class Evolution {
    private static final JsonNodeFactory NODE = JsonNodeFactory.instance;

    private final Dice dice;
    private final ReaderSchemas readers;
    /** The writer's full names of types, by the reader's. */
    private final Map<String, String> renamed = new LinkedHashMap<>();

    Evolution(Dice dice, ReaderSchemas readers) {
        this.dice = dice;
        this.readers = readers;
    }

    /** The writer's schema of a reader's, which gets the aliases. */
    JsonNode writer(JsonNode reader) {
        return evolve(reader, false);
    }

    private JsonNode evolve(JsonNode reader, boolean inUnion) {
        if (reader.isArray()) {
            return evolveUnion((ArrayNode) reader);
        }
        JsonNode writer = evolveType(reader);
        if (inUnion || !dice.chance(0.07)) {
            return writer;
        }
        ArrayNode union = NODE.arrayNode().add("null");
        union.insert(dice.below(2), writer);
        if (dice.chance(0.3) && !ReaderSchemas.kind(writer).equals("boolean")) {
            union.insert(dice.below(3), "boolean");
        }
        return ReaderSchemas.kind(writer).equals("null") ? writer : union;
    }

    private JsonNode evolveUnion(ArrayNode reader) {
        List<JsonNode> branches = new ArrayList<>();
        Set<String> kinds = new HashSet<>();
        for (JsonNode branch : reader) {
            JsonNode evolved = dice.chance(0.5) ? evolve(branch, true) : copy(branch);
            if (kinds.add(ReaderSchemas.kind(evolved))) {
                branches.add(evolved);
            }
        }
        if (dice.chance(0.15)) {
            return branches.get(dice.below(branches.size()));
        }
        if (dice.chance(0.15) && branches.size() > 1) {
            branches.remove(dice.below(branches.size()));
        }
        if (dice.chance(0.15) && kinds.add("null")) {
            branches.add(NODE.textNode("null"));
        }
        if (dice.chance(0.1)) {
            // No text, which may be promoted to a decimal.
            JsonNode more = NODE.textNode(dice.any(ReaderSchemas.PRIMITIVES.subList(0, 5)));
            if (kinds.add(ReaderSchemas.kind(more))) {
                branches.add(more);
            }
        }
        if (dice.chance(0.15)) {
            Collections.shuffle(branches, dice.random);
        }
        return NODE.arrayNode().addAll(branches);
    }

    private JsonNode evolveType(JsonNode reader) {
        String type = reader.isTextual() ? reader.textValue() : reader.get("type").textValue();
        if (dice.chance(0.01) && !reader.has("precision")) {
            return NODE.textNode(dice.any(ReaderSchemas.PRIMITIVES));
        }
        switch (type) {
            case "long": return dice.chance(0.2) ? NODE.textNode("int") : plain(reader);
            case "float": return dice.chance(0.2) ? NODE.textNode(dice.any(List.of("int", "long"))) : reader;
            case "double": return dice.chance(0.2) ? NODE.textNode(dice.any(List.of("int", "long", "float"))) : reader;
            case "bytes": return !reader.has("precision") && dice.chance(0.2) ? NODE.textNode("string") : plain(reader);
            case "string": return dice.chance(0.2) ? NODE.textNode("bytes") : plain(reader);
            case "array": {
                JsonNode items = evolve(reader.get("items"), false);
                return ReaderSchemas.object("array", "items", takesNoBytes(items) ? NODE.textNode("boolean") : items);
            }
            case "map": return ReaderSchemas.object("map", "values", evolve(reader.get("values"), false));
            case "fixed": {
                ObjectNode writer = rename((ObjectNode) reader);
                return dice.chance(0.02) ? writer.put("size", 13) : writer;
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
        return reader.isObject() && !reader.has("precision") && dice.chance(0.3) ? reader.get("type") : copy(reader);
    }

    private static JsonNode copy(JsonNode of) {
        return of.deepCopy();
    }

    private ObjectNode rename(ObjectNode reader) {
        ObjectNode writer = NODE.objectNode();
        reader.properties().forEach(entry -> writer.set(entry.getKey(), entry.getValue()));
        if (!dice.chance(0.15)) {
            return writer;
        }
        String name = reader.get("name").textValue();
        String own = reader.get("#").textValue();
        String simple = name.substring(name.lastIndexOf('.') + 1);
        String other = "Old" + simple;
        String space = dice.chance(0.7) ? own : dice.any(List.of("", "a", "c"));
        String full = space.isEmpty() ? other : space + "." + other;
        writer.put("name", other).put("namespace", space);
        String now = own.isEmpty() ? simple : own + "." + simple;
        renamed.put(now, full);
        if (dice.chance(0.75)) {
            String outside = space.isEmpty() && !own.isEmpty() ? "." + other : full;
            reader.putArray("aliases").add(space.equals(own) && dice.chance(0.5) ? other : outside);
        }
        return writer;
    }

    private JsonNode evolveEnum(ObjectNode reader) {
        ObjectNode writer = rename(reader);
        List<JsonNode> symbols = new ArrayList<>();
        reader.get("symbols").forEach(symbols::add);
        if (dice.chance(0.2)) {
            symbols.add(NODE.textNode("NEW"));
        }
        if (dice.chance(0.2) && symbols.size() > 1) {
            symbols.remove(0);
        }
        if (dice.chance(0.2)) {
            Collections.shuffle(symbols, dice.random);
        }
        writer.putArray("symbols").addAll(symbols);
        writer.remove("default");
        return writer;
    }

    private JsonNode evolveRecord(ObjectNode reader) {
        ObjectNode writer = rename(reader);
        List<JsonNode> fields = new ArrayList<>();
        for (JsonNode field : reader.get("fields")) {
            if (dice.chance(field.has("default") ? 0.2 : 0.01)) {
                continue;
            }
            ObjectNode evolved = NODE.objectNode();
            String name = field.get("name").textValue();
            if (dice.chance(0.12)) {
                String old = "old_" + name;
                evolved.put("name", old);
                if (dice.chance(0.9)) {
                    ((ObjectNode) field).putArray("aliases").add(old);
                }
            } else {
                evolved.put("name", name);
            }
            evolved.set("type", evolve(field.get("type"), false));
            fields.add(evolved);
        }
        if (dice.chance(0.2)) {
            // Without references: one to this record would make it recursive.
            readers.defined.clear();
            ObjectNode more = readers.field("more", 2, reader.get("#").textValue());
            more.remove("default");
            fields.add(dice.below(fields.size() + 1), more);
            readers.defined.clear();
        }
        if (dice.chance(0.2)) {
            Collections.shuffle(fields, dice.random);
        }
        writer.putArray("fields").addAll(fields);
        return writer;
    }

    /** The text of a schema, without our marks, with references to their types' present names. */
    String text(JsonNode schema, boolean isWriter) {
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
}
