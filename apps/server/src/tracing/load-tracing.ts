import { type Environment, RuntimeError } from '@petstore/runtime';

/**
 * Whether OpenTelemetry's own variables ask for spans: they name an exporter, or an address to send spans to. They are
 * read here, because finding out must not load OpenTelemetry.
 */
export function wantsTracing(environment: Environment): boolean {
  const { OTEL_SDK_DISABLED = '', OTEL_TRACES_EXPORTER: exporter } = environment;
  if (OTEL_SDK_DISABLED.toLowerCase() === 'true') return false;
  if (exporter) return exporter !== 'none';
  return Boolean(environment['OTEL_EXPORTER_OTLP_ENDPOINT'] || environment['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']);
}

/** @throws RuntimeError if OpenTelemetry, which is optional, is not installed */
export async function loadTracing(): Promise<typeof import('./start-tracing.ts')> {
  try {
    return await import('./start-tracing.ts');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND')) throw error;
    throw new RuntimeError(
      'OTEL_* enables tracing, but OpenTelemetry is not installed. Install without --no-optional, or unset OTEL_*.',
    );
  }
}
