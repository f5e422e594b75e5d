export {
  createReference,
  type Reference,
  type ReferenceRequest,
  type ReferenceResponse,
} from './create-reference.ts';
