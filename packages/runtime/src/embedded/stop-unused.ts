// Run by the guard of a process that was killed.
import { stopUnused } from './embedded-postgres.ts';

const [, , dataFolder = ''] = process.argv;
await stopUnused(dataFolder);
