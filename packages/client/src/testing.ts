// The one place where the client knows the server. What is packed here is loaded by tests alone.
export { createTestService } from '../../../apps/server/src/testing/test-service.ts';
export type {
  TestOrder,
  TestService,
  TestServiceOptions,
} from '../../../apps/server/src/testing/test-service-types.ts';
