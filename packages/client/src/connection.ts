import { type CheckedOptions, checkOptions, type PetstoreClientOptions, serviceUrlOf } from './options.ts';
import { createPatientFetch, type PatientFetch } from './transport/patient-fetch.ts';

/** The common base of the REST client and the tRPC client. */
export interface Connection {
  /** The service's address, without `/v1` and without a slash at its end. */
  readonly serviceUrl: string;
  readonly options: CheckedOptions;
  readonly send: PatientFetch;
}

/** @throws TypeError if an option is not valid */
export function createConnection(options: PetstoreClientOptions): Connection {
  const checked = checkOptions(options);
  return { serviceUrl: serviceUrlOf(options.baseUrl), options: checked, send: createPatientFetch(checked) };
}
