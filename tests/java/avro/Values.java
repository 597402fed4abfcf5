// Random values of a schema, with edge values of each type, and their encoding.
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.avro.LogicalTypes;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.Encoder;
import org.apache.avro.io.EncoderFactory;

final class Values {
    static final List<String> TEXTS =
        List.of("", "a", "plain text", "\u00e9\u4e16", "\ud83d\ude00 pair", "\u0000", "x".repeat(70));

    private final Dice dice;

    Values(Dice dice) {
        this.dice = dice;
    }

    Object value(Schema schema, int depth) {
        switch (schema.getType()) {
            case NULL: return null;
            case BOOLEAN: return dice.chance(0.5);
            case INT: return dice.chance(0.5) ? dice.below(200) - 100
                : (Object) dice.any(List.of(Integer.MIN_VALUE, Integer.MAX_VALUE, 16777217, dice.random.nextInt()));
            case LONG: return dice.chance(0.5) ? (long) dice.below(200) - 100
                : (Object) dice.any(List.of(Long.MIN_VALUE, Long.MAX_VALUE, (1L << 53) + 1, dice.random.nextLong()));
            case FLOAT: return dice.any(List.of(0f, -0f, 1.5f, Float.NaN, Float.POSITIVE_INFINITY,
                Float.NEGATIVE_INFINITY, Float.MIN_VALUE, Float.MAX_VALUE, dice.random.nextFloat()));
            case DOUBLE: return dice.any(List.of(0d, -0d, 1.5, Double.NaN, Double.POSITIVE_INFINITY,
                Double.NEGATIVE_INFINITY, Double.MIN_VALUE, Double.MAX_VALUE, dice.random.nextGaussian()));
            case STRING: return dice.any(TEXTS);
            case BYTES: {
                if (schema.getLogicalType() instanceof LogicalTypes.Decimal) {
                    return ByteBuffer.wrap(decimal(schema).toByteArray());
                }
                // Mostly text, which may become a string; a decimal at the reader holds them, too.
                return ByteBuffer.wrap(dice.chance(0.9) ? dice.any(TEXTS).getBytes(StandardCharsets.UTF_8)
                    : new byte[] {(byte) 0xff, 0, (byte) 0x80});
            }
            case FIXED: {
                byte[] bytes = new byte[schema.getFixedSize()];
                if (schema.getLogicalType() instanceof LogicalTypes.Decimal) {
                    byte[] number = decimal(schema).toByteArray();
                    Arrays.fill(bytes, number[0] < 0 ? (byte) -1 : 0);
                    System.arraycopy(number, 0, bytes, bytes.length - number.length, number.length);
                } else {
                    dice.random.nextBytes(bytes);
                    for (int i = 3; bytes.length == 12 && i < 12; i += 4) {
                        bytes[i] &= 0x7f; // a duration that Arrow's has room for
                    }
                }
                return new GenericData.Fixed(schema, bytes);
            }
            case ENUM: return new GenericData.EnumSymbol(schema, dice.any(schema.getEnumSymbols()));
            case ARRAY: {
                List<Object> items = new GenericData.Array<>(4, schema);
                for (int i = dice.below(depth > 3 ? 2 : 4); i > 0; i--) {
                    items.add(value(schema.getElementType(), depth + 1));
                }
                return items;
            }
            case MAP: {
                Map<String, Object> entries = new TreeMap<>();
                for (int i = dice.below(depth > 3 ? 2 : 4); i > 0; i--) {
                    entries.put(dice.any(TEXTS), value(schema.getValueType(), depth + 1));
                }
                return entries;
            }
            case UNION: return value(dice.any(schema.getTypes()), depth);
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
        BigInteger number = switch (dice.below(4)) {
            case 0 -> BigInteger.ZERO;
            case 1 -> bound.subtract(BigInteger.ONE);
            default -> new BigInteger(bound.bitLength(), dice.random).mod(bound);
        };
        return dice.chance(0.5) ? number : number.negate();
    }

    byte[] encode(Schema schema, Object value) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        // The blocking encoder writes the size of each block.
        Encoder encoder = dice.chance(0.75) ? EncoderFactory.get().binaryEncoder(out, null)
            : new EncoderFactory().configureBlockSize(64).blockingBinaryEncoder(out, null);
        new GenericDatumWriter<>(schema).write(value, encoder);
        encoder.flush();
        return out.toByteArray();
    }
}
