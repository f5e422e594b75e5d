import { parsedBy } from '@petstore/runtime/settings';
import { z } from 'zod';

// The variables of the OpenTelemetry specification. Those that hold addresses, headers and certificates
// (OTEL_EXPORTER_OTLP_*), OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES are read by its SDK itself.
// https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/

const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

/** The specification has names read in any case. */
const oneOf = <const Names extends readonly string[]>(names: Names) => z.string().toLowerCase().pipe(z.enum(names));

const number = (min: number, max: number, describe: string) =>
  parsedBy((text) => {
    const value = Number(text);
    return value >= min && value <= max ? value : undefined;
  })
    .optional()
    .describe(describe);

const milliseconds = number(0, 600_000, 'milliseconds, 0 to 600000');
const spanCount = number(1, 100_000, 'a number of spans, 1 to 100000');
const protocol = oneOf(['http/protobuf', 'http/json']).optional().describe('http/protobuf or http/json (not grpc)');
const endpoint = (example: string) =>
  z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe(`an http or https URL, such as ${example}`);

export const TRACING_VARIABLES = {
  OTEL_SDK_DISABLED: oneOf(['true', 'false']).default('false').describe('true or false'),
  OTEL_TRACES_EXPORTER: oneOf(['otlp', 'console', 'none']).optional().describe('otlp, console or none'),
  OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: protocol,
  OTEL_EXPORTER_OTLP_ENDPOINT: endpoint('http://collector:4318'),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: endpoint('http://collector:4318/v1/traces'),
  OTEL_TRACES_SAMPLER: oneOf(SAMPLERS)
    .default('parentbased_always_on')
    .describe(`one of ${SAMPLERS.join(', ')}`),
  OTEL_TRACES_SAMPLER_ARG: number(0, 1, 'a ratio, 0 to 1, such as 0.1'),
  OTEL_BSP_SCHEDULE_DELAY: milliseconds,
  OTEL_BSP_EXPORT_TIMEOUT: milliseconds,
  OTEL_BSP_MAX_QUEUE_SIZE: spanCount,
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: spanCount,
};

type Values = { readonly [Name in keyof typeof TRACING_VARIABLES]: z.output<(typeof TRACING_VARIABLES)[Name]> };

export interface TracingSettings {
  readonly exporter: 'console' | 'http/protobuf' | 'http/json';
  /** The variable that says where spans are sent. */
  readonly endpointVariable: 'OTEL_EXPORTER_OTLP_ENDPOINT' | 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT';
  readonly sampler: (typeof SAMPLERS)[number];
  /** Of the traces that begin here, how many are recorded: 0 to 1. For the two samplers that have a ratio. */
  readonly samplingRatio: number;
  /** How spans are collected before they are sent; what is left out has OpenTelemetry's default. */
  readonly batches: {
    readonly scheduledDelayMillis?: number;
    readonly exportTimeoutMillis?: number;
    readonly maxQueueSize?: number;
    readonly maxExportBatchSize?: number;
  };
}

/** @returns `undefined` where nothing asks for spans: neither an exporter nor an address to send them to is set */
export function toTracingSettings(values: Values): TracingSettings | undefined {
  const endpoint = values.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? values.OTEL_EXPORTER_OTLP_ENDPOINT;
  const exporter = values.OTEL_TRACES_EXPORTER ?? (endpoint === undefined ? 'none' : 'otlp');
  if (values.OTEL_SDK_DISABLED === 'true' || exporter === 'none') return undefined;
  const protocol = values.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ?? values.OTEL_EXPORTER_OTLP_PROTOCOL ?? 'http/protobuf';
  const {
    OTEL_BSP_SCHEDULE_DELAY: scheduledDelayMillis,
    OTEL_BSP_EXPORT_TIMEOUT: exportTimeoutMillis,
    OTEL_BSP_MAX_QUEUE_SIZE: maxQueueSize,
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: maxExportBatchSize,
  } = values;
  return {
    exporter: exporter === 'console' ? 'console' : protocol,
    endpointVariable:
      values.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT === undefined
        ? 'OTEL_EXPORTER_OTLP_ENDPOINT'
        : 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    sampler: values.OTEL_TRACES_SAMPLER,
    samplingRatio: values.OTEL_TRACES_SAMPLER_ARG ?? 1,
    batches: {
      ...(scheduledDelayMillis !== undefined && { scheduledDelayMillis }),
      ...(exportTimeoutMillis !== undefined && { exportTimeoutMillis }),
      ...(maxQueueSize !== undefined && { maxQueueSize }),
      ...(maxExportBatchSize !== undefined && { maxExportBatchSize }),
    },
  };
}
