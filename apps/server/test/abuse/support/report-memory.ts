// Loaded into the server before it starts (`--import`): reports the memory of the process on a Unix socket.
import { createServer } from 'node:http';
import { readMemoryInUse } from '@petstore/testing/memory-in-use';

createServer((_, response) => void readMemoryInUse().then((bytes) => response.end(String(bytes))))
  .listen(process.env['MEMORY_SOCKET'])
  .unref();
