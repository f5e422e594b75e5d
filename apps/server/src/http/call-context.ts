import type { Context, Services } from '@petstore/api';
import type { Principal } from '@petstore/domain';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { principalOf } from './admission.ts';
import { signalOf } from './responses.ts';

/** What the procedures of a request are given. */
export class CallContext implements Context {
  readonly services: Services;
  readonly principal: Principal;
  readonly requestId: string;
  readonly delivery: Context['delivery'];
  readonly wait: Context['wait'];
  readonly #reply: FastifyReply;
  /** Made when it is first asked for, because few operations ask. */
  #signal: AbortSignal | undefined;

  constructor(
    { services, delivery, wait }: Pick<Context, 'services' | 'delivery' | 'wait'>,
    request: FastifyRequest,
    reply: FastifyReply,
  ) {
    this.services = services;
    this.principal = principalOf(request);
    this.requestId = request.id;
    this.delivery = delivery;
    this.wait = wait;
    this.#reply = reply;
  }

  // A getter of the class: with one of its own, each object has a shape of its own, and collecting garbage costs twice as much.
  get signal(): AbortSignal {
    this.#signal ??= signalOf(this.#reply);
    return this.#signal;
  }
}
