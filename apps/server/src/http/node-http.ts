/**
 * Node's HTTP module. An `import` of it evaluates each of its exports, one of which is a whole WebSocket client: 35 ms
 * of every start, for nothing that is used here. Types may be imported from `node:http` as ever.
 */
export const { createServer, METHODS, STATUS_CODES } = process.getBuiltinModule('node:http');
