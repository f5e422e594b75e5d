import type { Environment } from '@petstore/runtime';

/**
 * Whether OpenTelemetry's own variables ask for spans: an exporter is named, or an address to send them to. Read here, so
 * that nothing of OpenTelemetry is loaded to find out.
 */
export function wantsTracing(environment: Environment): boolean {
  const { OTEL_SDK_DISABLED = '', OTEL_TRACES_EXPORTER: exporter } = environment;
  if (OTEL_SDK_DISABLED.toLowerCase() === 'true') return false;
  if (exporter) return exporter !== 'none';
  return Boolean(environment['OTEL_EXPORTER_OTLP_ENDPOINT'] || environment['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']);
}
