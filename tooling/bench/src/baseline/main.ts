/*
 * The baseline: the two documented operations, written by hand for speed by a good engineer, and nothing else. It has no
 * layers, document, tRPC, bans or metrics; a failure of Redis or PostgreSQL is an error like any other. Its settings are
 * PORT, DATABASE_URL and REDIS_URL, as in the service.
 */
import Fastify, { type FastifyReply } from 'fastify';
import { createKeys } from './keys.ts';
import { createLimiter } from './limiter.ts';
import { createOrders } from './orders.ts';

const { PORT = '0', DATABASE_URL = '', REDIS_URL = '' } = process.env;

/** The limit of requests without a valid key: 600 a minute for each address. */
const ADDRESS_LIMITS = { perMinute: 600, perDay: 1_000_000_000 };
const JSON_TYPE = 'application/json';
const ORDER_ID = /^(?:0|-?[1-9]\d{0,17})$/;

const keys = createKeys(DATABASE_URL);
const limiter = createLimiter(REDIS_URL);
const orders = createOrders(DATABASE_URL);
const app = Fastify({ forceCloseConnections: true });

const ERRORS = {
  invalid_request: [400, 'The order id must be a 64-bit integer.'],
  missing_api_key: [401, 'An API key is required.'],
  invalid_api_key: [401, 'The API key is not valid.'],
  order_not_found: [404, 'There is no order with this id.'],
  order_already_shipped: [409, 'The order has already shipped.'],
  order_already_cancelled: [409, 'The order has already been cancelled.'],
  rate_limit_exceeded: [429, 'Too many requests.'],
} as const;

function refuse(reply: FastifyReply, code: keyof typeof ERRORS) {
  const [status, message] = ERRORS[code];
  const body = `{"code":"${code}","message":"${message}","status":${status}}`;
  return reply.code(status).header('content-type', JSON_TYPE).send(body);
}

app.addHook('onRequest', async (request, reply) => {
  const { authorization } = request.headers;
  const found = authorization === undefined ? undefined : keys.find(authorization);
  // Awaiting an available value would cost a turn of the event loop.
  const key = found instanceof Promise ? await found : found;
  const limits = key ?? ADDRESS_LIMITS;
  const [admitted, limit, remaining, reset] = await limiter.admit(key?.id ?? request.ip, limits);
  reply.headers({ 'x-ratelimit-limit': limit, 'x-ratelimit-remaining': remaining, 'x-ratelimit-reset': reset });
  if (admitted === 0) {
    const retryAfterSeconds = Math.max(1, reset - Math.floor(Date.now() / 1000));
    return refuse(reply.header('retry-after', retryAfterSeconds), 'rate_limit_exceeded');
  }
  if (key === undefined) {
    reply.header('www-authenticate', 'Bearer');
    return refuse(reply, authorization === undefined ? 'missing_api_key' : 'invalid_api_key');
  }
});

app.get('/v1/store/orders', async (_request, reply) => {
  const list = await orders.list();
  return reply.header('content-type', JSON_TYPE).send(list);
});

app.delete<{ Params: { orderId: string } }>('/v1/store/orders/:orderId', async (request, reply) => {
  const { orderId } = request.params;
  if (!ORDER_ID.test(orderId)) return refuse(reply, 'invalid_request');
  switch (await orders.cancel(orderId)) {
    case 'cancelled':
      return reply.code(204).send();
    case 'was-cancelled':
      return refuse(reply, 'order_already_cancelled');
    case 'was-shipped':
      return refuse(reply, 'order_already_shipped');
    case 'unknown':
      return refuse(reply, 'order_not_found');
  }
});

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit());
console.log(`listening on ${await app.listen({ host: '127.0.0.1', port: Number(PORT) })}`);
