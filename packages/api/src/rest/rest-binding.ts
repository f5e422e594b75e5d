import type { ZodType } from 'zod';
import type { ErrorCode } from '../error-catalogue.ts';
import type { RestResult } from './rest-route.ts';

/** A response as the document shows it. */
interface ResponseExample {
  readonly summary: string;
  readonly value: unknown;
}

/** A header as the document shows it (OpenAPI's Header Object). */
interface ResponseHeader {
  readonly description: string;
  /** Whether every success carries it. @default false */
  readonly required?: boolean;
  readonly schema: Readonly<Record<string, unknown>>;
  readonly example?: unknown;
}

/** How a procedure responds over REST. */
export interface RestBinding<Output = never, Input = never> {
  /** The body of a success, as the document shows it. Goes with `serialize`; left out: 204 without a body. */
  readonly response?: ZodType;
  /** What a success may hold, by name. */
  readonly examples?: Readonly<Record<string, ResponseExample>>;
  /** The headers of a success besides those that every response has, by name. */
  readonly responseHeaders?: Readonly<Record<string, ResponseHeader>>;
  /** The errors of the operation itself, besides those that every operation has. */
  readonly errors: readonly ErrorCode[];
  /** The message for a typical wrong input, as the document shows it. @default the catalogue's message */
  readonly invalidRequest?: string;
  /** Since when the operation is deprecated (RFC 9745). Goes with `deprecated` in `meta.openapi`. */
  readonly deprecatedAt?: Date;
  /** When a deprecated operation ends, unless the installation says otherwise (`Services.sunsetOverrides`). */
  readonly sunsetAt?: Date;
  /** Makes the response of the procedure's output; `input` is as it was read from the request. */
  readonly serialize?: (output: Output, input: Input) => RestResult;
}
