ALTER TABLE "pawl"."ledger" ADD COLUMN "written_in" text;--> statement-breakpoint
ALTER TABLE "pawl"."ledger" ADD COLUMN "noticed_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "pawl"."ledger" ADD COLUMN "noticed_why" text;--> statement-breakpoint
ALTER TABLE "pawl"."ledger" ADD COLUMN "kept_until" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "pawl"."ledger" ADD COLUMN "lost_calls" jsonb DEFAULT '[]'::jsonb NOT NULL;