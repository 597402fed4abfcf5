// The notation of values in JSON. Floats are the hex digits of their bits; bytes and fixed are hex, decimals (of at
// most 76 digits) their unscaled integer; a record is an array, a map an array of sorted pairs; a value of a union of
// several types apart from null is {its number among them: value}. Text that is not UTF-8 is an error, as in no
// other type.
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.avro.LogicalTypes;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.IndexedRecord;
import org.apache.avro.util.Utf8;

final class Notation {
    private static final JsonNodeFactory NODE = JsonNodeFactory.instance;
    private static final HexFormat HEX = HexFormat.of();

    private Notation() { }

    /** The notation of a value of a schema. */
    static JsonNode of(Schema schema, Object value) throws IOException {
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
                    out.add(of(schema.getElementType(), item));
                }
                return out;
            }
            case MAP: {
                Map<Utf8, JsonNode> sorted = new TreeMap<>();
                for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
                    Utf8 key = new Utf8(text((CharSequence) entry.getKey()));
                    sorted.put(key, of(schema.getValueType(), entry.getValue()));
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
                JsonNode out = of(types.get(branch), value);
                return types.size() - nulls == 1 ? out
                    : NODE.objectNode().set(Long.toString(branch - before), out);
            }
            default: {
                ArrayNode out = NODE.arrayNode();
                for (Schema.Field field : schema.getFields()) {
                    out.add(of(field.schema(), ((IndexedRecord) value).get(field.pos())));
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
}
