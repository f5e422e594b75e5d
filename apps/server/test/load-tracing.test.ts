import { expect, test } from 'vitest';
import { wantsTracing } from '../src/tracing/load-tracing.ts';

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };

test.each([
  ENDPOINT,
  { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://collector:4318/v1/traces' },
  { OTEL_TRACES_EXPORTER: 'console' },
  { ...ENDPOINT, OTEL_SDK_DISABLED: 'false' },
])('%o enables tracing', (environment) => expect(wantsTracing(environment)).toBe(true));

test.each([
  {},
  { OTEL_EXPORTER_OTLP_ENDPOINT: '' },
  { OTEL_SERVICE_NAME: 'shop', OTEL_TRACES_SAMPLER: 'always_on' },
  { ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' },
  { ...ENDPOINT, OTEL_SDK_DISABLED: 'true' },
  { OTEL_TRACES_EXPORTER: 'otlp', OTEL_SDK_DISABLED: 'True' },
])('%o does not', (environment) => expect(wantsTracing(environment)).toBe(false));
