import type { ZodType } from 'zod';
import type { ErrorCode } from '../error-catalogue.ts';
import type { RestResult } from './rest-route.ts';

/** Something that may be answered, as the document shows it. */
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

/** How a procedure answers over REST, where its representation differs from the object that tRPC gives. */
export interface RestBinding<Output = never, Input = never> {
  /** The body of a success, as the document shows it; none: 204. */
  readonly response?: ZodType;
  /** What a success may hold, by name. */
  readonly examples?: Readonly<Record<string, ResponseExample>>;
  /** The headers of a success besides those that every answer has, by name. */
  readonly responseHeaders?: Readonly<Record<string, ResponseHeader>>;
  /** The errors of the operation itself, besides those that every operation may answer with. */
  readonly errors: readonly ErrorCode[];
  /** What the sender of a typical wrong input is told, as the document shows it. @default the catalogue's message */
  readonly invalidRequest?: string;
  /** Since when the operation is deprecated (RFC 9745). Goes with `deprecated` in `meta.openapi`. */
  readonly deprecatedAt?: Date;
  /** When a deprecated operation ends, unless the installation says otherwise (`Services.petsSunsetAt`). */
  readonly sunsetAt?: Date;
  /** Turns what the procedure gave into what goes over the wire; `input` is as it was read from the request. */
  readonly serialize: (output: Output, input: Input) => RestResult;
}
