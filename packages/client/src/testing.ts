// The one place where the client knows the server. What is packed here is loaded by tests alone.
export type { TestOrder } from '../../../apps/server/src/testing/test-order.ts';
export {
  createTestService,
  type TestService,
  type TestServiceOptions,
} from '../../../apps/server/src/testing/test-service.ts';
