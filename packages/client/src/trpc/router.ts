/**
 * All that the client knows of the service's procedures: types alone. The published package holds them itself, see
 * `scripts/build.ts`.
 */
export type { AppRouter, ErrorCode } from '@petstore/api';
