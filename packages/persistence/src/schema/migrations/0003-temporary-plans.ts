import { SchemaChange } from '../schema-change.ts';

/**
 * The temporary plan of a key, and why it has one. The columns are null in every row there is, so no row is written;
 * look-ups of keys wait while the rows are checked, less than half a second for a million of them. The former release
 * reads and writes columns by name, so it goes on with the lasting plan.
 */
export class TemporaryPlans extends SchemaChange {
  override readonly oldestRelease = '0002-orders-of-a-pet';

  override up(): void {
    this.addSql(`
      alter table api_keys
        add column temporary_plan text,
        add column temporary_per_minute integer,
        add column temporary_per_day integer,
        add column temporary_until timestamptz(3),
        add column temporary_reason text,
        add constraint api_keys_temporary_plan_check check (
          temporary_plan in ('free', 'pro', 'business', 'enterprise')
        ),
        add constraint api_keys_temporary_limits_check check (
          case temporary_plan
            when 'enterprise' then
              temporary_per_minute is not null and temporary_per_minute >= 1 and temporary_per_minute <= 1000000000
              and temporary_per_day is not null and temporary_per_day >= 1 and temporary_per_day <= 1000000000
            else temporary_per_minute is null and temporary_per_day is null
          end
        ),
        add constraint api_keys_temporary_until_check check (
          (temporary_plan is null) = (temporary_until is null)
          and (temporary_until is null
            or temporary_until >= '0001-01-01 00:00:00+00' and temporary_until < '10000-01-01 00:00:00+00')
        ),
        add constraint api_keys_temporary_reason_check check (
          temporary_reason is null
          or temporary_plan is not null and btrim(temporary_reason) <> '' and char_length(temporary_reason) <= 200
            and temporary_reason !~ '[[:cntrl:]]'
        )
    `);
  }
}
