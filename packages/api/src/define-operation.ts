import type { AnyTRPCProcedure, TRPCMutationProcedure, TRPCQueryProcedure } from '@trpc/server';
import type { z } from 'zod';
import type { Context } from './context.ts';
import type { ProcedureContract } from './procedure-contract.ts';
import { createRestProcedure } from './rest/rest-procedure.ts';
import type { TrpcErrorShape } from './trpc/format-error.ts';
import { procedure } from './trpc/trpc.ts';

/** An operation of the service: what it promises, and how it is called over tRPC and over REST. */
export interface Operation<Procedure extends AnyTRPCProcedure = AnyTRPCProcedure> {
  readonly contract: ProcedureContract;
  readonly procedure: Procedure;
  /** Present if the contract documents it. */
  readonly restProcedure: AnyTRPCProcedure | undefined;
}

/** What an operation does, however it is called. Its caller has the permission, and the input fits the contract. */
export type Resolve<Contract extends ProcedureContract, Output> = (call: {
  readonly ctx: Context;
  readonly input: InputOf<Contract>;
}) => Promise<Output>;

/** Makes the procedures of an operation from its contract. All of them call `resolve`. */
export function defineOperation<Contract extends ProcedureContract, Output extends ResultOf<Contract>>(
  contract: Contract,
  resolve: Resolve<Contract, Output>,
): Operation<ProcedureOf<Contract, Output>> {
  const described = procedure.meta(contract);
  const builder = contract.input === undefined ? described : described.input(contract.input);
  const call = resolve as (call: { readonly ctx: Context; readonly input: unknown }) => Promise<Output>; // as the contract says
  const built = contract.type === 'mutation' ? builder.mutation(call) : builder.query(call);
  return {
    contract,
    procedure: built as unknown as ProcedureOf<Contract, Output>, // the compiler cannot follow a contract that is a parameter
    restProcedure: contract.openapi === undefined ? undefined : createRestProcedure(contract, call),
  };
}

type SchemaOf<Contract> = Contract extends { readonly input: infer Schema extends z.ZodType } ? Schema : z.ZodVoid;
type InputOf<Contract> = z.output<SchemaOf<Contract>>;

type ProcedureOf<Contract, Output> = Contract extends { readonly type: 'mutation' }
  ? TRPCMutationProcedure<TypesOf<Contract, Output>>
  : TRPCQueryProcedure<TypesOf<Contract, Output>>;

type TypesOf<Contract, Output> = {
  input: z.input<SchemaOf<Contract>>;
  output: Output;
  meta: ProcedureContract;
  errorShape: TrpcErrorShape;
};

/** What the body of a response can be made from. In the same process, an operation may also have no result. */
type ResultOf<Contract> = Contract extends {
  readonly rest: { readonly response: infer Schema extends z.ZodType; readonly stream?: undefined };
}
  ? DeepReadonly<z.input<Schema>> | null
  : unknown;

type DeepReadonly<Value> = Value extends string | bigint | Date
  ? Value
  : { readonly [Name in keyof Value]: DeepReadonly<Value[Name]> };
