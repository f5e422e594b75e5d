// Loaded into the server before it starts (`--import`): tells on a Unix socket what memory the process holds.
import { createServer } from 'node:http';
import { readMemoryInUse } from '@petstore/testing/memory-in-use';

createServer((_, response) => void readMemoryInUse().then((bytes) => response.end(String(bytes))))
  .listen(process.env['MEMORY_SOCKET'])
  .unref();
