export {
  createReference,
  type Reference,
  type ReferenceAnswer,
  type ReferenceRequest,
} from './create-reference.ts';
