import type { IncomingMessage } from 'node:http';
import { defaultTextMapGetter, ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import type { CompletedRequest, RequestTracing } from '../http/app-options.ts';
import type { ClientAddress } from '../http/edge/client-address.ts';
import type { Spans } from './spans.ts';

/** RFC 9110 and RFC 5789; by the semantic conventions every other method is `_OTHER`. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH']);
/** The client left before its request had come in full: there was no response. */
const CLIENT_GONE = 499;

/** A span of each request, named by its method and route, as the semantic conventions for HTTP servers say. */
export class TracedRequests implements RequestTracing {
  readonly #spans: Spans;
  readonly #clientAddress: ClientAddress;
  readonly #propagator = new W3CTraceContextPropagator();
  readonly #ofRequests = new WeakMap<IncomingMessage, Span>();

  constructor(spans: Spans, clientAddress: ClientAddress) {
    this.#spans = spans;
    this.#clientAddress = clientAddress;
  }

  run(request: IncomingMessage, serve: () => void): void {
    const { method = '', url = '', headers, httpVersion } = request;
    const context = this.#propagator.extract(ROOT_CONTEXT, headers, defaultTextMapGetter);
    const isKnown = METHODS.has(method);
    const query = url.indexOf('?');
    const attributes = {
      'http.request.method': isKnown ? method : '_OTHER',
      ...(!isKnown && { 'http.request.method_original': method }),
      'url.scheme': 'http',
      'url.path': query === -1 ? url : url.slice(0, query),
      'network.protocol.version': httpVersion,
      'client.address': this.#clientAddress(request),
      ...serverOf(headers.host),
      ...(headers['user-agent'] !== undefined && { 'user_agent.original': headers['user-agent'] }),
    };
    const span = this.#spans.begin({ name: isKnown ? method : 'HTTP', kind: SpanKind.SERVER, attributes }, context);
    this.#ofRequests.set(request, span);
    this.#spans.runIn(span, context, serve);
  }

  onRoute(request: IncomingMessage, pattern: string): void {
    if (pattern === '/*') return; // nothing is there
    const span = this.#ofRequests.get(request);
    const { method = '' } = request;
    span?.setAttribute('http.route', pattern).updateName(`${METHODS.has(method) ? method : 'HTTP'} ${pattern}`);
  }

  traceIdOf(request: IncomingMessage): string | undefined {
    return this.#ofRequests.get(request)?.spanContext().traceId;
  }

  end({ request, errorCode, logFields }: CompletedRequest, status: number): void {
    const span = this.#ofRequests.get(request);
    if (span === undefined) return;
    const { requestId, keyId, operation } = logFields;
    span.setAttributes({
      'petstore.request_id': requestId,
      'petstore.operation': operation,
      ...(keyId !== undefined && { 'petstore.api_key_id': keyId }),
      ...(errorCode !== undefined && { 'error.type': errorCode }),
    });
    if (status === CLIENT_GONE) span.setAttribute('error.type', 'client_gone');
    else span.setAttribute('http.response.status_code', status);
    if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end();
  }
}

/** Where the caller sent its request, as far as it says. */
function serverOf(host: string | undefined) {
  const [, address, port] = /^(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?$/.exec(host ?? '') ?? [];
  return {
    ...(address && { 'server.address': address }),
    ...(port !== undefined && { 'server.port': Number(port) }),
  };
}
