import { type ApiKeyKind, PLAN_NAMES, type PlanName } from '@petstore/domain';
import { z } from 'zod';
import { defineOperation } from '../../define-operation.ts';
import { timeAsText, timeAsTextOrNull } from '../schemas.ts';

/** A key, without its secret. */
export interface CurrentKey {
  /** The eight characters that name the key. */
  readonly id: string;
  readonly name: string;
  readonly plan: PlanName;
  readonly kind: ApiKeyKind;
  readonly readOnly: boolean;
  readonly createdAt: Date;
  /** When the key that was sent stops being valid, because it expires or was rotated; `null`: at no set time. */
  readonly expiresAt: Date | null;
}

const KeyResponse = z
  .object({
    id: z
      .string()
      .max(8)
      .regex(/^[0-9A-Za-z]{8}$/)
      .meta({ description: 'Names the key, and does not change when it is rotated.' }),
    name: z.string().meta({ description: 'What it was named when it was created.' }),
    plan: z.enum(PLAN_NAMES).meta({ description: 'The plan, which sets its limits.' }),
    kind: z
      .enum(['external', 'internal'])
      .meta({ description: 'Over tRPC, internal keys may also place, ship and complete orders.' }),
    readOnly: z.boolean().meta({ description: 'Whether it may change nothing.' }),
    createdAt: timeAsText('When it was created, in UTC.'),
    expiresAt: timeAsTextOrNull(
      'When the key that was sent stops being valid, in UTC, because it expires or was rotated; null if no end is set.',
    ),
  })
  .meta({ id: 'Key', description: 'An API key, without its secret.' });

/** Describes the caller's key: `null` for callers in the same process, which have none. */
export const getCurrentKey = defineOperation(
  {
    type: 'query',
    versions: { v2: 'beta' },
    openapi: {
      method: 'GET',
      path: '/key',
      operationId: 'getKey',
      summary: 'Describe the key',
      description: 'Returns what the service knows of the API key of the request: what it may do, and until when.',
      tags: ['key'],
      successDescription: 'The key.',
    },
    rest: {
      response: KeyResponse,
      examples: {
        key: {
          summary: 'A key that expires.',
          value: {
            id: 'a1B2c3D4',
            name: 'shop',
            plan: 'pro',
            kind: 'external',
            readOnly: false,
            createdAt: '2026-11-02T08:15:00.000Z',
            expiresAt: '2027-11-02T08:15:00.000Z',
          },
        },
      },
      errors: [],
    },
  },
  async ({ ctx: { principal } }): Promise<CurrentKey | null> => {
    if (principal.type === 'in-process') return null;
    const { keyId, name, plan, kind, readOnly, createdAt, expiresAt = null } = principal;
    return { id: keyId, name, plan: plan.name, kind, readOnly, createdAt, expiresAt };
  },
);
