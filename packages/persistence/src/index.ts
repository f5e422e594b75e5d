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
export { PURPOSES, type Purpose } from './database/server-pool.ts';
export { describeStorageFailure } from './database/storage-reason.ts';
export type { OrderEventObserver, OrderEventStore } from './events/order-events.ts';
export type { AuditTrail, BanEvent } from './keys/audit-trail.ts';
export type { ApiKeyAdministration, ApiKeyReason, KeyRotation, NewApiKey } from './keys/key-administration.ts';
export type { OrderStore } from './orders/order-store.ts';
export {
  type DatabaseLoad,
  openPersistence,
  type Persistence,
  type PersistenceOptions,
  type PingResult,
} from './persistence.ts';
export type { PetStore } from './pets/pet-store.ts';
export { describeDenial } from './role-error.ts';
export type { MigrationStatus, Migrations } from './schema/create-migrations.ts';
export { NewerDatabaseError, SchemaError } from './schema/schema-error.ts';
