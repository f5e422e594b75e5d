// The baseline: the two operations of v1 in the usual way, each library used as its documentation shows. It works on
// the service's tables, and has no events, bans, metrics or access log; its keys neither expire nor can be revoked.

import { hash } from 'node:crypto';
import rateLimit, { type RateLimitPluginOptions } from '@fastify/rate-limit';
import { defineEntity, type EntityManager, type InferEntity, MikroORM, p } from '@mikro-orm/postgresql';
import { initTRPC, TRPCError } from '@trpc/server';
import { getHTTPStatusCodeFromError } from '@trpc/server/http';
import Fastify, { type FastifyError, type FastifyRequest } from 'fastify';
import { Redis } from 'ioredis';
import { LRUCache } from 'lru-cache';
import { fastifyTRPCOpenApiPlugin, type OpenApiMeta } from 'trpc-to-openapi';
import { z } from 'zod';

const { PORT = '0', DATABASE_URL = '', REDIS_URL = '' } = process.env;

const Order = defineEntity({
  name: 'Order',
  tableName: 'orders',
  properties: {
    id: p.bigint('number').primary(),
    petId: p.bigint('number'),
    quantity: p.integer(),
    shipDate: p.datetime().nullable(),
    complete: p.boolean(),
    status: p.text(),
    cancelledAt: p.datetime().nullable().lazy(),
  },
});
const ApiKey = defineEntity({
  name: 'ApiKey',
  tableName: 'api_keys',
  properties: { id: p.text().primary(), perMinute: p.integer(), perDay: p.integer() },
});
type ApiKey = InferEntity<typeof ApiKey>;
const ApiKeySecret = defineEntity({
  name: 'ApiKeySecret',
  tableName: 'api_key_secrets',
  properties: { hash: p.blob().primary(), key: () => p.manyToOne(ApiKey).joinColumn('key_id') },
});
const orm = new MikroORM({ clientUrl: DATABASE_URL, entities: [Order, ApiKey, ApiKeySecret], forceUndefined: true });

const t = initTRPC
  .context<{ em: EntityManager; apiKey: ApiKey | undefined }>()
  .meta<OpenApiMeta>()
  .create({ errorFormatter: ({ shape, error }) => ({ ...shape, status: getHTTPStatusCodeFromError(error) }) });
const procedure = t.procedure.use(({ ctx, next }) => {
  if (ctx.apiKey === undefined) throw new TRPCError({ code: 'UNAUTHORIZED', message: 'A valid API key is required.' });
  return next();
});
const OrderSchema = z.object({
  id: z.int(),
  petId: z.int(),
  quantity: z.int(),
  shipDate: z.date().nullish(),
  complete: z.boolean(),
});
const router = t.router({
  listOrders: procedure
    .meta({ openapi: { method: 'GET', path: '/store/orders' } })
    .input(z.void())
    .output(z.array(OrderSchema))
    .query(({ ctx }) => ctx.em.find(Order, {}, { orderBy: { id: 'asc' } })),
  cancelOrder: procedure
    .meta({ openapi: { method: 'DELETE', path: '/store/orders/{orderId}' } })
    .input(z.object({ orderId: z.int() }))
    .output(z.void())
    .mutation(async ({ ctx: { em }, input: { orderId: id } }) => {
      const change = { status: 'cancelled', cancelledAt: new Date() };
      // One conditional statement is faster than a transaction that locks the order, reads it and flushes the change.
      if ((await em.nativeUpdate(Order, { id, status: 'pending' }, change)) === 1) return;
      const order = await em.findOne(Order, { id });
      if (order === null) throw new TRPCError({ code: 'NOT_FOUND', message: 'There is no order with this id.' });
      throw new TRPCError({ code: 'CONFLICT', message: `The order is ${order.status}.` });
    }),
});
const keys = new LRUCache<string, ApiKey>({
  max: 10_000,
  ttl: 5_000,
  async fetchMethod(authorization) {
    const secret = hash('sha256', authorization.replace(/^Bearer +/i, ''), 'buffer');
    return (await orm.em.fork().findOne(ApiKeySecret, { hash: secret }, { populate: ['key'] }))?.key;
  },
});
const app = Fastify();
app.decorateRequest('apiKey');
app.addHook('onRequest', async (request) => {
  request.setDecorator('apiKey', await keys.fetch(request.headers.authorization ?? ''));
});
const keyOf = (request: FastifyRequest) => request.getDecorator<ApiKey | undefined>('apiKey');
const windows: RateLimitPluginOptions[] = [
  { nameSpace: 'minute:', timeWindow: '1 minute', max: (request) => keyOf(request)?.perMinute ?? 600 },
  {
    nameSpace: 'day:',
    timeWindow: '1 day',
    max: (request) => keyOf(request)?.perDay ?? 0,
    allowList: (request) => keyOf(request) === undefined,
  },
];
const redis = new Redis(REDIS_URL);
const keyGenerator = (request: FastifyRequest) => keyOf(request)?.id ?? request.ip;
for (const window of windows) await app.register(rateLimit, { ...window, redis, keyGenerator });
app.setErrorHandler<FastifyError>(({ statusCode: status = 500, code, message }, _request, reply) =>
  reply.code(status).send({ code: status === 429 ? 'TOO_MANY_REQUESTS' : code, message, status }),
);
app.register(fastifyTRPCOpenApiPlugin<typeof router>, {
  basePath: '/v1',
  router,
  createContext: ({ req }) => ({ em: orm.em.fork(), apiKey: keyOf(req) }),
  responseMeta: ({ type, errors }) => (type === 'mutation' && errors.length === 0 ? { status: 204 } : {}),
});

console.log(`listening on ${await app.listen({ host: '127.0.0.1', port: Number(PORT) })}`);
