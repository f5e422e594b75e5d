import { type DocumentedContract, procedureContracts, type RestRoute, restRoutes } from '@petstore/api';
import type { ApiKeyKind } from '@petstore/domain';
import type { TestApp } from '../http/support/test-app.ts';
import { placeOrder } from '../support/database.ts';
import type { DescribedApi, DescribedOperation } from './response-validator.ts';

/** A documented operation of one version, with the contract and the route that it has in the service. */
export interface Operation extends DescribedOperation {
  /** Such as `GET /v2/limits`. */
  readonly name: string;
  readonly basePath: string;
  readonly contract: DocumentedContract;
  readonly route: RestRoute;
}

/** The input of a procedure, by field. */
export type Input = Readonly<Record<string, unknown>>;

/** By operationId: creates what a call needs to succeed. @returns its input */
const SUCCEEDING: Readonly<Record<string, (app: TestApp) => Promise<Input>>> = {
  listOrders: async () => ({}),
  cancelOrder: async ({ persistence }) => ({ orderId: (await placeOrder(persistence)).id }),
  getPetById: async () => ({ petId: 1n }),
  listOrdersPage: async () => ({ limit: 2 }),
  listOrderEvents: async () => ({ after: '0', limit: 2 }),
  getLimits: async () => ({}),
  getKey: async () => ({}),
  getOrder: async ({ persistence }) => ({ orderId: (await placeOrder(persistence)).id }),
};

export function inputOf({ operationId }: Operation, app: TestApp): Promise<Input> {
  const make = SUCCEEDING[operationId];
  if (make === undefined) throw new Error(`Say in SUCCEEDING how ${operationId} succeeds.`);
  return make(app);
}

/** Every operation of the documents. */
export const operationsOf = (apis: readonly DescribedApi[]): readonly Operation[] =>
  apis.flatMap(({ basePath, operations }) =>
    operations.map((operation) => {
      const { method, path, operationId } = operation;
      const route = restRoutes.find((each) => each.operationId === operationId && basePath === `/${each.apiVersion}`);
      const contract = procedureContracts.get(route?.procedure ?? '');
      if (route === undefined || contract?.openapi === undefined) throw new Error(`${operationId} has no contract.`);
      return { ...operation, name: `${method} ${basePath}${path}`, basePath, contract, route };
    }),
  );

/** @throws Error if something holds of none, whose tests would be left out unnoticed */
export function operationsThat(holds: (operation: Operation) => boolean, all: readonly Operation[]) {
  const found = all.filter(holds);
  if (found.length === 0) throw new Error(`No operation is such that ${holds}.`);
  return found;
}

/** The parameters of an operation, by the fields of its input. */
function parameterNamesOf({ contract }: Operation): ReadonlyMap<string, string> {
  const { parameterNames = {} } = contract.rest;
  return new Map(Object.keys(contract.input?.shape ?? {}).map((field) => [field, parameterNames[field] ?? field]));
}

export const queryParametersOf = (operation: Operation): readonly string[] =>
  [...parameterNamesOf(operation).values()].filter((name) => !operation.path.includes(`{${name}}`));

/** The URL of a call over REST. */
export function urlOf(operation: Operation, input: Input): string {
  const names = parameterNamesOf(operation);
  const query = new URLSearchParams();
  let url = operation.basePath + operation.path;
  for (const [field, value] of Object.entries(input)) {
    const name = names.get(field) ?? field;
    if (url.includes(`{${name}}`)) url = url.replace(`{${name}}`, encodeURIComponent(String(value)));
    else query.append(name, String(value));
  }
  return query.size === 0 ? url : `${url}?${query}`;
}

/** The name of the 64-bit integer that the path of an operation ends in; `undefined` if it ends in none. */
export function idParameterOf({ path, contract }: Operation): string | undefined {
  const [, name = ''] = /\{(\w+)\}$/.exec(path) ?? [];
  return contract.input?.shape[name]?.safeParse(1n).success === true ? name : undefined;
}

/** The kind of keys that may call an operation. */
export const kindFor = ({ contract }: Operation): ApiKeyKind =>
  contract.access === 'internal' ? 'internal' : 'external';

/** A key that may call an operation. */
export const keyFor = (operation: Operation, { key, internalKey }: TestApp): string =>
  kindFor(operation) === 'internal' ? internalKey : key;
