// What tests of other packages need to run the server as it is deployed.

export { comparable, isAsShown, ROOT, readSteps, type Step, stepsIn } from '../process/support/documentation.ts';
export { Reader } from '../process/support/reader.ts';
export { SpawnedServer, useDataFolder } from '../process/support/spawned-server.ts';
export { type StartedServer, startServer } from '../process/support/start-server.ts';
export { createKey, KEYS, planOf, type TestKey } from './keys.ts';
export { createServerDatabase, importDemoOrders, prepareServerDatabase } from './template-database.ts';
