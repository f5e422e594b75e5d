export { createReference } from './create-reference.ts';
export type { Reference, ReferenceOptions, ReferenceRequest, ReferenceResponse } from './reference.ts';
