export type {
  ApiKeyAdministration,
  ApiKeyReason,
  KeyRotation,
  NewApiKey,
} from './administration/api-key-administration.ts';
export type { AuditTrail, BanEvent } from './administration/audit-trail.ts';
export type { GenerateOptions } from './bulk/generate-orders.ts';
export {
  type ImportItem,
  type ImportOptions,
  type ImportRecord,
  type ImportResult,
  type ImportSource,
  REJECTED_LISTED_MAX,
  type RejectedRecord,
} from './bulk/import-rows.ts';
export type { OrderEventObserver, OrderEventStore } from './events/order-events.ts';
export {
  openPersistence,
  type Persistence,
  type PersistenceOptions,
  type PingResult,
  POOL_NAMES,
  type PoolName,
  type PoolReport,
} from './persistence.ts';
export { describeDenial } from './role-error.ts';
export type { MigrationStatus, Migrations } from './schema/create-migrations.ts';
export { NewerDatabaseError, SchemaError } from './schema/schema-error.ts';
export type { OrderStore } from './statements/order-store.ts';
export type { PetStore } from './statements/pet-store.ts';
export type { ReplicaReport, ReplicaState } from './statements/replica.ts';
export { describeStorageFailure } from './storage-reason.ts';
