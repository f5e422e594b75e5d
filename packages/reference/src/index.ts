export {
  createReference,
  type Reference,
  type ReferenceOptions,
  type ReferenceRequest,
  type ReferenceResponse,
} from './create-reference.ts';
