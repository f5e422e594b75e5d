import {
  type Attributes,
  type Context,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import type { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { failureOf, toApiError } from '@petstore/api';

/** What a span is of. Names have few values; what varies belongs in attributes. */
export interface SpanFacts {
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes: Attributes;
}

/** Records spans, each below the one in whose context it begins. */
export class Spans {
  readonly #tracer: Tracer;
  readonly #contexts: AsyncLocalStorageContextManager;

  constructor(tracer: Tracer, contexts: AsyncLocalStorageContextManager) {
    this.#tracer = tracer;
    this.#contexts = contexts;
  }

  get current(): Context {
    return this.#contexts.active();
  }

  /** Begins a span that its caller ends, below the one of the context. */
  begin({ name, ...options }: SpanFacts, context: Context): Span {
    return this.#tracer.startSpan(name, options, context);
  }

  /** Runs something in the context of a span. */
  runIn<Result>(span: Span, context: Context, run: () => Result): Result {
    return this.#contexts.with(trace.setSpan(context, span), run);
  }

  /** Records what something asynchronous takes, and whether it failed. */
  async measure<Result>(facts: SpanFacts, run: () => Promise<Result>, context = this.current): Promise<Result> {
    const span = this.begin(facts, context);
    try {
      return await this.runIn(span, context, run);
    } catch (error) {
      recordFailure(span, error);
      throw error;
    } finally {
      span.end();
    }
  }
}

/** A refusal is no error of the span: only a failure of ours, or of what we depend on, is one. */
function recordFailure(span: Span, error: unknown): void {
  const { errorCode } = toApiError(error);
  span.setAttribute('error.type', errorCode);
  const failure = failureOf(error);
  if (failure === undefined) return;
  const { cause } = failure;
  if (cause instanceof Error) span.recordException(cause);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

/** A span of work in this process. */
export const internal = (name: string, attributes: Attributes): SpanFacts => ({
  name,
  kind: SpanKind.INTERNAL,
  attributes,
});

/** A span of a call to a database: the semantic conventions name it after the operation and its target. */
export const databaseCall = (operation: string, target: string, attributes: Attributes): SpanFacts => ({
  name: `${operation} ${target}`,
  kind: SpanKind.CLIENT,
  attributes: {
    ...attributes,
    'db.operation.name': operation,
    'db.query.summary': `${operation} ${target}`,
  },
});
