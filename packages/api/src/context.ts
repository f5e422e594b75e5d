import type { Clock, OrderRepository, PetRepository, Principal } from '@petstore/domain';

/** What procedures work with, the same for every call: built once at start. */
export interface Services {
  readonly orders: OrderRepository;
  readonly pets: PetRepository;
  readonly clock: Clock;
  /** From this moment on `pets.get` answers `operation_sunset`. */
  readonly petsSunsetAt: Date;
}

/** What a procedure is given: the services, and on whose behalf it runs. */
export interface Context {
  readonly services: Services;
  readonly principal: Principal;
  readonly requestId: string;
}
