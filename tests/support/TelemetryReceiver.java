import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.MetricsReporter;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.telemetry.ClientTelemetry;
import org.apache.kafka.server.telemetry.ClientTelemetryPayload;
import org.apache.kafka.server.telemetry.ClientTelemetryReceiver;
import org.apache.kafka.shaded.io.opentelemetry.proto.common.v1.KeyValue;
import org.apache.kafka.shaded.io.opentelemetry.proto.metrics.v1.Metric;
import org.apache.kafka.shaded.io.opentelemetry.proto.metrics.v1.MetricsData;
import org.apache.kafka.shaded.io.opentelemetry.proto.metrics.v1.NumberDataPoint;

/**
 * A broker's receiver of client telemetry: appends each push to the file of the key `ottla.telemetry.file`, as read by
 * Kafka's own classes. A line is the instance, whether it is the last push, and name, kind and value of one metric; the
 * attributes of the client are lines of the kind `attribute`.
 */
public class TelemetryReceiver implements MetricsReporter, ClientTelemetry, ClientTelemetryReceiver {
    private Path file;

    @Override
    public void configure(Map<String, ?> configs) {
        file = Path.of(configs.get("ottla.telemetry.file").toString());
    }

    @Override
    public ClientTelemetryReceiver clientReceiver() {
        return this;
    }

    @Override
    public synchronized void exportMetrics(AuthorizableRequestContext context, ClientTelemetryPayload payload) {
        String push = payload.clientInstanceId() + "\t" + payload.isTerminating() + "\t";
        StringBuilder lines = new StringBuilder();
        try {
            byte[] bytes = new byte[payload.data().remaining()];
            payload.data().duplicate().get(bytes);
            MetricsData data = MetricsData.parseFrom(bytes);
            data.getResourceMetricsList().forEach(resource -> {
                for (KeyValue each : resource.getResource().getAttributesList()) {
                    append(lines, push, each.getKey(), "attribute", each.getValue().getStringValue());
                }
                resource.getScopeMetricsList().forEach(scope -> scope.getMetricsList().forEach(metric -> append(lines, push, metric)));
            });
            Files.writeString(file, lines, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException error) {
            throw new RuntimeException(error);
        }
    }

    private static void append(StringBuilder lines, String push, Metric metric) {
        boolean isSum = metric.hasSum();
        String kind = isSum ? metric.getSum().getAggregationTemporality().name() : "GAUGE";
        List<NumberDataPoint> points =
            isSum ? metric.getSum().getDataPointsList() : metric.getGauge().getDataPointsList();
        for (NumberDataPoint point : points) {
            append(lines, push, metric.getName(), kind, Double.toString(point.getAsDouble()));
        }
    }

    private static void append(StringBuilder lines, String push, String name, String kind, String value) {
        lines.append(push).append(name).append('\t').append(kind).append('\t').append(value).append('\n');
    }

    @Override
    public void init(List<KafkaMetric> metrics) {}

    @Override
    public void metricChange(KafkaMetric metric) {}

    @Override
    public void metricRemoval(KafkaMetric metric) {}

    @Override
    public void close() {}
}
